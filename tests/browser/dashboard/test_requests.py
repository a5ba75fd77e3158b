"""What a page asks the server for: little, and what is far down only when somebody comes there."""

import re
import shlex
import sys

from playwright.sync_api import Browser, expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import Visitor
from tests.crash.server import until

PAGES = ("/", "/cluster", "/jobs", "/nodes", "/teams", "/submit", "/what-if", "/audit")
AT_MOST = 5

TRAINING = """
import time
from muster.train import Checkpointer
with Checkpointer() as checkpoints:
    for step in range(1, 10_000):
        if not checkpoints.step(step, {}, loss=1 / step):
            break
        time.sleep(0.1)
"""


def requests_of(visitor: Visitor, path: str) -> set[str]:
    """What a page asks for until it has stood for a while, but for who one is and what happens."""
    asked: set[str] = set()
    visitor.page.on("request", lambda request: asked.add(re.sub(r"(/logs)\?.*", r"\1", request.url)))
    visitor.open(path)
    visitor.is_live()
    expect(visitor.page.locator("main").get_by_text("Loading…")).to_have_count(0)
    visitor.page.wait_for_timeout(1000)  # a page may go on asking
    asked = {each for each in asked if "/v1/" in each}
    return {each for each in asked if not each.endswith(("/v1/whoami", "/v1/events"))}


def test_what_is_in_sight_of_a_page_takes_at_most_five_requests(browser: Browser, site: Site) -> None:
    run = f"{sys.executable} -c {shlex.quote(TRAINING)}"
    trains, waits = site.submit("trains", run=run), site.submit("waits", gpus=4, workers=3)
    until(lambda: len(site.read(f"/v1/jobs/{trains}/measures")["items"]) > 1)
    with Visitor(browser, site.url, width_px=1440) as visitor:
        visitor.enter(site.link())
        found = {path: requests_of(visitor, path) for path in (*PAGES, f"/jobs/{trains}", f"/jobs/{waits}")}
        assert {path: asked for path, asked in found.items() if not 1 <= len(asked) <= AT_MOST} == {}
        visitor.open(f"/jobs/{trains}")
        visitor.read_through()
        for region in ("Ranks", "Output", "Job file"):
            expect(visitor.page.get_by_role("region", name=region)).to_be_attached()
