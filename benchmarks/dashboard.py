"""How the dashboard feels with 2,000 nodes of 8 GPUs and 10,000 jobs: a table with a bar for each figure.

A server process with the real API has pretended nodes and jobs behind it, and Debian's Chromium looks at it, on the
same machine. Run with `make bench`; `--seconds 20` is a short look at what takes ten minutes.
"""

import argparse
import gzip
import multiprocessing
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from benchmarks.control_plane import saves
from muster.access.secrets import new_secret
from muster.api.app import create_app
from muster.api.dashboard.files import BUILT
from muster.api.deps import Deps
from muster.api.server import Listening, bound, serve
from muster.backends.fake import FakeBackend, GangScript
from muster.engine.engine import Engine
from muster.live.clock import SystemClock
from muster.live.configuration import Configuration
from muster.live.control_plane import ControlPlane
from muster.model.access import Binding, Role, Token
from muster.model.errors import Unavailable
from muster.model.ids import JobId
from muster.model.scenario import Rules
from muster.model.spec import JobSpec
from tests.api.world import Kept
from tests.builders import a_cluster, a_job, a_node, a_team

NODES, NODES_PER_RACK = 2_000, 20
JOBS, BATCH = 10_000, 250
TEAMS = tuple(f"team-{number}" for number in range(12))
EVENTS_A_SECOND = 50
MEMORY_S = 600
HEAP_LOOKS = 30
"""How often memory is looked at. The last third is compared with the first."""
FRAMES_S = 15
PATIENCE_MS = 120_000

PAGES = {"/": "h1", "/jobs": '[data-testid="job-row"]', "/cluster": "[data-testid]:not([data-testid=connection])"}
"""What shows that a page has what it needs."""

_WATCH = """
  window.__lcp = 0; window.__slow = 0;
  new PerformanceObserver(list => list.getEntries().forEach(each => { window.__lcp = each.startTime; }))
    .observe({ type: 'largest-contentful-paint', buffered: true });
  new PerformanceObserver(list => list.getEntries().forEach(each => {
    window.__slow = Math.max(window.__slow, each.duration); }))
    .observe({ type: 'event', durationThreshold: 16, buffered: false });
"""

_FRAMES = """seconds => new Promise(done => {
  let before = performance.now(), longest = 0; const end = before + seconds * 1000;
  const frame = now => {
    longest = Math.max(longest, now - before); before = now;
    if (now < end) requestAnimationFrame(frame); else done(longest);
  };
  requestAnimationFrame(frame);
})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table."""

    what: str
    measured: float
    bar: float
    unit: str


def specs(count: int) -> list[JobSpec]:
    """Jobs of several teams and sizes. Most run, and the gangs that are too large for what is left wait."""
    sizes = (1, 1, 2, 1, 2, 4, 1, 1, 8, 1)
    return [
        a_job(
            f"train-{number % 400}", gpus=sizes[number % len(sizes)], team=TEAMS[number % len(TEAMS)], checkpoint=True
        )
        for number in range(count)
    ]


def serve_big_cluster(told: Connection, nodes: int, jobs: int) -> None:
    """A server process: send its address and a token, then make events whenever a number of seconds is received."""
    kept, clock = Kept(), SystemClock()
    backend = FakeBackend({JobId(f"job-{number}"): [GangScript(run_ms=None)] for number in range(1, jobs + 1)})
    racks = [a_node(f"n{number}", gpus=8, domains=(f"r{number // NODES_PER_RACK}",)) for number in range(nodes)]
    control = ControlPlane(
        log=kept.log,
        states=kept.states,
        archive=kept.jobs,
        backend=backend,
        clock=clock,
        configuration=Configuration(
            cluster=a_cluster(*racks, levels=("rack",)), rules=Rules(teams=tuple(a_team(team) for team in TEAMS))
        ),
    )
    deps = Deps(
        control=control,
        tokens=kept.tokens,
        audit=kept.audit,
        events=kept.log,
        jobs=kept.jobs,
        backend=backend,
        clock=clock,
    )
    control.start()
    for begin in range(0, jobs, BATCH):
        answers = [control.ask(partial(_submit, spec)) for spec in specs(jobs)[begin : begin + BATCH]]
        for answer in answers:
            answer.result(PATIENCE_MS / 1000)
    secret = new_secret()
    kept.tokens.add(
        Token(id=secret.id, name="bench", digest=secret.digest, bindings=(Binding(role=Role.ADMIN),), created_ms=0)
    )
    where = Listening()
    with closing(bound(where)) as listener:
        threading.Thread(target=make_events, args=(told, control), daemon=True).start()
        serve(create_app(deps), listener, where, on_listening=lambda url: told.send((url, secret.text)))


def make_events(told: Connection, control: ControlPlane) -> None:
    """Fifty events a second for as many seconds as are asked for, again and again."""
    number = 0
    while (seconds := _next(told)) is not None:
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            number += 1
            job = JobId(f"job-{number % 5_000 + 1}")
            with suppress(Unavailable):  # a busy disk: the next events come
                control.ask(partial(_save, job))
            time.sleep(1 / EVENTS_A_SECOND)


def _next(told: Connection) -> int | None:
    try:
        return int(told.recv())
    except EOFError:
        return None  # whoever measured is gone


def _submit(spec: JobSpec, engine: Engine, now_ms: int) -> None:
    engine.submit(spec, now_ms)


def _save(job: JobId, engine: Engine, now_ms: int) -> None:
    engine.observe(*saves([job], now_ms))


@contextmanager
def big_cluster(nodes: int, jobs: int) -> Iterator[tuple[str, str, Connection]]:
    """The address of a server, a token, and how to make it busy."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve_big_cluster, args=(theirs, nodes, jobs))
    process.start()
    theirs.close()  # so that a server that fails is noticed
    try:
        url, token = ours.recv()
        yield url, token, ours
    finally:
        process.terminate()
        process.join()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of the distribution."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=[*arguments, "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def signed_in(browser: Browser, url: str, token: str) -> Page:
    """A page that is signed in with a token."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=url)
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.goto("/sign-in")
    page.get_by_label("Or paste a token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator('[data-testid="connection"]')).to_have_text("live", timeout=PATIENCE_MS)
    return page


def loading(page: Page) -> Iterator[Figure]:
    """How long each page takes to show its largest part, and how often it asks."""
    for path, sign in PAGES.items():
        asked: list[str] = []
        page.on("request", partial(_note, asked))
        begin = time.perf_counter()
        page.goto(path)
        page.locator(sign).first.wait_for()
        page.wait_for_timeout(2_000)  # A page may go on asking.
        whole_ms = 1000 * (time.perf_counter() - begin) - 2_000
        yield Figure(what=f"largest paint of {path}", measured=page.evaluate("window.__lcp"), bar=2_000, unit="ms")
        yield Figure(what=f"rows or cells of {path} in sight", measured=whole_ms, bar=2_000, unit="ms")
        needed = [each for each in asked if "/v1/" in each and "/v1/events" not in each and "/v1/whoami" not in each]
        yield Figure(what=f"requests of {path}", measured=len(needed), bar=5, unit="")


def _note(asked: list[str], request: Request) -> None:
    asked.append(request.url)


def touching(page: Page) -> Iterator[Figure]:
    """From a key, a click or a movement to the next picture."""
    page.goto("/jobs")
    page.locator(PAGES["/jobs"]).first.wait_for()
    yield from _touched(page, "filter", lambda: page.locator("main input[type=search]").press_sequentially("train-39"))
    page.locator("main input[type=search]").fill("")
    yield from _touched(page, "sort", page.locator("thead button").first.click)
    page.goto("/cluster")
    page.locator("main canvas, main [data-testid=gpu-cell]").first.wait_for()

    def hover() -> None:
        for step in range(30):
            page.mouse.move(300 + 20 * step, 300 + 10 * step)

    yield from _touched(page, "hover", hover)


def _touched(page: Page, what: str, act: Any) -> Iterator[Figure]:
    page.wait_for_timeout(1_000)
    page.evaluate("window.__slow = 0")
    act()
    page.wait_for_timeout(1_000)
    yield Figure(what=what, measured=page.evaluate("window.__slow"), bar=100, unit="ms")


def living(page: Page, told: Connection, seconds: int) -> Iterator[Figure]:
    """Frames and memory while fifty events come in every second."""
    for path in ("/jobs", "/cluster"):
        page.goto(path)
        page.locator(PAGES[path]).first.wait_for()
        page.wait_for_timeout(2_000)
        told.send(FRAMES_S)
        longest_ms = page.evaluate(_FRAMES, FRAMES_S)
        yield Figure(
            what=f"longest frame of {path}, {EVENTS_A_SECOND} events/s", measured=longest_ms, bar=100, unit="ms"
        )
    session = page.context.new_cdp_session(page)
    told.send(seconds)
    heaps = []
    for _ in range(HEAP_LOOKS):
        page.wait_for_timeout(seconds * 1000 / HEAP_LOOKS)
        heaps.append(_heap_bytes(session))
    # What is being drawn makes single looks differ by a tenth and more.
    growth = 100 * (median(heaps[-HEAP_LOOKS // 3 :]) / median(heaps[: HEAP_LOOKS // 3]) - 1)
    yield Figure(what=f"growth of memory in {seconds} s", measured=growth, bar=10, unit="%")


def _heap_bytes(session: Any) -> int:
    session.send("HeapProfiler.collectGarbage")
    return int(session.send("Runtime.getHeapUsage")["usedSize"])


def bundle() -> Figure:
    """All scripts and styles, compressed."""
    files = [path for path in (BUILT / "assets").iterdir() if path.suffix in (".js", ".css")]
    size = sum(len(gzip.compress(path.read_bytes())) for path in files)
    return Figure(what="scripts and styles, gzipped", measured=size / 1000, bar=400, unit="kB")


def main(words: list[str]) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard")
    parser.add_argument("--seconds", type=int, default=MEMORY_S, help="how long memory is watched")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--jobs", type=int, default=JOBS)
    given = parser.parse_args(words)
    sys.stdout.write(f"{'':48} {'measured':>12} {'bar':>9}\n")
    with big_cluster(given.nodes, given.jobs) as (url, token, told), chromium() as browser:
        page = signed_in(browser, url, token)
        _print(bundle())
        for figures in (loading(page), touching(page), living(page, told, given.seconds)):
            for each in figures:
                _print(each)


def _print(figure: Figure) -> None:
    verdict = "" if figure.measured <= figure.bar else "  MISSED"
    measured = f"{figure.measured:,.0f} {figure.unit}"
    sys.stdout.write(f"{figure.what:48} {measured:>12} {f'≤ {figure.bar:,.0f}':>9}{verdict}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
