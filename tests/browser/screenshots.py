"""Pictures of every page, by day and at night, on a desk and a phone. `make screenshots` writes them.

All of them go into `build/screenshots`, and a few for the README into `docs/images`. A real server has real jobs of
several teams on small nodes: some run, one trains, one waits, and one node is out.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import PATIENCE_MS, Visitor
from tests.crash.server import until

ROOT = Path(__file__).parents[2]
ALL = ROOT / "build" / "screenshots"
FEW = ROOT / "docs" / "images"
FEW_BYTES = 300_000
"""All pictures of the README together."""

CLUSTER = """
[cluster]
levels = ["block", "rack"]
nodes = [
  {name = "n[1-4]", gpus = 8, gpu_type = "h100", block = "b1", rack = "r1"},
  {name = "n[5-8]", gpus = 8, gpu_type = "h100", block = "b1", rack = "r2"},
  {name = "s[1-2]", gpus = 4, gpu_type = "a100", block = "b2", rack = "r3", pool = "older"},
]
[pools.main]
price = 2.5
[pools.older]
[teams.language]
guaranteed = {"h100" = 32}
weight = 2
[teams.language.teams.pretraining]
guaranteed = {"h100" = 16}
[teams.language.teams.evaluation]
[teams.vision]
guaranteed = {"h100" = 16}
[teams.speech]
[profiles.small]
resources = {gpus = 0.5}
tier = "exploratory"
[[admission]]
name = "a limit for everybody"
when = "!has(job.max_duration)"
set = {max_duration = "4h"}
[[admission]]
name = "images come from us"
when = 'has(job.image) && !job.image.startsWith("registry.example/")'
deny = "use an image of registry.example"
[[admission]]
name = "projects"
when = "gpus(job) >= 16 && !('project' in job.tags)"
warn = "say which project this is for: tags: {project: …}"
"""

TRAINING = """
import math, time
from muster.train import Checkpointer
with Checkpointer() as checkpoints:
    for step in range(1, 100_000):
        loss = 2.1 + 8.0 * math.exp(-step / 300) + 0.2 * math.sin(step / 7) / math.sqrt(step)
        if step % 50 == 0:
            print(f"step {step}  loss {loss:.4f}", flush=True)
        if not checkpoints.step(step, {}, loss=loss):
            break
        time.sleep(0.02)
"""

PAGES = {
    "overview": "/",
    "cluster": "/cluster",
    "jobs": "/jobs",
    "teams": "/teams",
    "nodes": "/nodes",
    "submit": "/submit",
    "what-if": "/what-if",
    "audit": "/audit",
}
"""The address of every page that needs no job, by the name of its picture."""

STEPS = 4
"""Minutes of history that the charts show at least."""

DESK_PX, PHONE_PX = 1440, 390

SHOWN_PX = 1180
SHOWN = {"overview": "light", "cluster": "dark", "job-waiting": "light"}
"""The pages in the README, and how each looks there."""


def submitted(site: Site) -> dict[str, str]:
    """Jobs as a morning brings them; their ids by name."""
    h100 = {"gpus": 8, "gpu_type": "h100"}
    llama = {"team": "language/pretraining", "resources": h100, "tags": {"project": "llama"}}
    image = {"image": "registry.example/vision/train:2026-11"}
    jobs: dict[str, dict[str, Any]] = {
        "llama-pretrain": {"workers": 3, "max_duration": "3d", **llama},
        "eval-suite": {"team": "language/evaluation", "resources": {"gpus": 2}, "max_duration": "2h"},
        "segmentation": {"team": "vision", "workers": 2, "resources": h100, "max_duration": "12h"},
        "detector-sweep": {"team": "vision", "resources": {"gpus": 4}, "max_duration": "6h"},
        "whisper-finetune": {"team": "speech", "resources": {"gpus": 4, "gpu_type": "a100"}, "max_duration": "8h"},
        "notebook": {"team": "speech", "profile": "small"},
        "llama-long-context": {"workers": 4, "max_duration": "5d", **llama},
        "vit-large": {"team": "vision", "workers": 3, "resources": h100, **image},
    }
    found = {name: site.client.submit({"name": name, "run": "sleep 100000", **job}).id for name, job in jobs.items()}
    training = {"name": "gpt-small", "team": "language/pretraining", "resources": {"gpus": 4}, "max_duration": "2h"}
    run = f"{sys.executable} - <<'END'\n{TRAINING}\nEND"
    found["gpt-small"] = site.client.submit({**training, "run": run}).id
    site.client.drain("n8", reason="the fan of GPU 3 is loud")
    site.await_state(found["gpt-small"], "running")
    found["broken"] = site.client.submit({"name": "broken", "team": "speech", "run": "echo no data >&2; exit 3"}).id
    site.await_state(found["broken"], "failed")
    until(lambda: len(site.read(f"/v1/jobs/{found['gpt-small']}/measures")["items"]) > 15)
    while len(site.read("/v1/history?step=1m")["covered_s"]) < STEPS:
        time.sleep(1)
    return found


def simulated(site: Site) -> str:
    """A what-if that has been answered."""
    run = str(site.post("/v1/what-if", {"origin": "present", "nodes": {"n1": 10}})["id"])
    until(lambda: site.read(f"/v1/what-if/{run}")["state"] == "done")
    return run


def refused(visitor: Visitor) -> None:
    """Describe a job that an admission rule refuses."""
    lines = ("name: train", "team: vision", "image: docker.io/train:1", "resources: {gpus: 8}", "run: python train.py")
    visitor.seen("editor").locator(".cm-content").click()
    visitor.page.keyboard.press("ControlOrMeta+a")
    visitor.page.keyboard.insert_text("\n".join(lines))
    expect(visitor.seen("job-problem")).to_be_visible()


def chosen_jobs(visitor: Visitor) -> None:
    """Choose two jobs in the list."""
    for key in "jxjx":
        visitor.page.keyboard.press(key)
    expect(visitor.page.locator('[data-testid="job-row"] input:checked')).to_have_count(2)


def opened_node(visitor: Visitor) -> None:
    """Press the name of a node on the map."""
    visitor.page.locator('button.title[data-node="n1"]').click()
    expect(visitor.page.get_by_role("complementary", name="Node n1").locator(".health")).to_be_visible()


def help_dialog(visitor: Visitor) -> None:
    """Ask for the keys."""
    visitor.page.keyboard.press("?")
    expect(visitor.page.get_by_role("dialog")).to_be_visible()


def drain_dialog(visitor: Visitor) -> None:
    """Be asked whether a node shall be drained."""
    visitor.page.get_by_role("button", name="Drain").first.click()
    visitor.page.get_by_role("checkbox").check()


def cost_of_hours(visitor: Visitor) -> None:
    """Look at the last hours of the teams: of a whole day there is no history yet."""
    visitor.page.get_by_label("How far back").select_option(label="the last 3 hours")
    expect(visitor.page.locator(".usage canvas")).to_have_count(3)
    visitor.page.locator(".usage").evaluate("sheet => sheet.scrollIntoView()")


DEEDS: dict[str, tuple[str, Callable[[Visitor], None]]] = {
    "submit-refused": ("/submit", refused),
    "jobs-chosen": ("/jobs", chosen_jobs),
    "cluster-node": ("/cluster", opened_node),
    "help": ("/jobs", help_dialog),
    "drain": ("/nodes?node=n1", drain_dialog),
    "teams-hours": ("/teams", cost_of_hours),
}
"""Pages on which something is done before the picture, by its name. Only what is in sight is in the picture."""


def settled(visitor: Visitor, path: str) -> None:
    """Open a page, and wait until the server has answered all that it asks for and what is below has been in sight."""
    visitor.open(path)
    visitor.is_live()
    for _ in range(2):  # what comes into sight may make room for more
        visitor.read_through()
        for words in ("Loading…", "loading the rest…", "Asking the server…"):
            expect(visitor.page.get_by_text(words)).to_have_count(0)


def taken(browser: Browser, site: Site, places: dict[str, str], folder: Path, *, has_jobs: bool = False) -> None:
    """One picture of each page on each screen."""
    for scheme in ("light", "dark"):
        for width_px in (DESK_PX, PHONE_PX):
            with Visitor(browser, site.url, width_px=width_px, scheme=scheme) as visitor:
                visitor.page.goto(f"{site.url}/sign-in")
                expect(visitor.page.locator("h1")).to_be_visible()
                visitor.page.screenshot(path=folder / f"sign-in-{scheme}-{width_px}.png")
                visitor.enter(site.link())
                for name, path in places.items():
                    settled(visitor, path)
                    visitor.page.screenshot(path=folder / f"{name}-{scheme}-{width_px}.png", full_page=True)
                for name, (path, act) in DEEDS.items() if has_jobs else ():
                    settled(visitor, path)
                    act(visitor)
                    visitor.page.screenshot(path=folder / f"{name}-{scheme}-{width_px}.png")


def chosen(browser: Browser, site: Site, places: dict[str, str]) -> None:
    """What of some pages is in sight first, for the README."""
    for name, scheme in SHOWN.items():
        with Visitor(browser, site.url, width_px=SHOWN_PX, scheme=scheme) as visitor:
            visitor.enter(site.link())
            settled(visitor, places[name])
            visitor.page.screenshot(path=FEW / f"{name}.png")


def main() -> int:
    """Start the cluster, take the pictures, and keep the few that the README shows."""
    expect.set_options(timeout=PATIENCE_MS)
    for folder in (ALL / "full", ALL / "empty", FEW):
        folder.mkdir(parents=True, exist_ok=True)
    arguments = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with tempfile.TemporaryDirectory(prefix="muster-screenshots-") as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        site = Site(Path(home), CLUSTER)
        with site.server as server:
            server.start()
            taken(browser, site, PAGES, ALL / "empty")
            jobs = submitted(site)
            found = {"running": "gpt-small", "waiting": "llama-long-context", "warned": "vit-large", "failed": "broken"}
            places = PAGES | {f"job-{name}": f"/jobs/{jobs[job]}" for name, job in found.items()}
            places |= {"node": "/nodes?node=n8", "submit-like": f"/submit?from={jobs['vit-large']}"}
            places |= {"what-if-answer": f"/what-if?run={simulated(site)}"}
            taken(browser, site, places, ALL / "full", has_jobs=True)
            chosen(browser, site, places)
        browser.close()
    size = sum(path.stat().st_size for path in FEW.glob("*.png"))
    sys.stdout.write(f"{len(list(ALL.rglob('*.png')))} pictures are in {ALL}; {size:,} bytes in {FEW}\n")
    return 0 if size <= FEW_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
