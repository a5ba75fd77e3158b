"""The live screen, driven by keys, against a server in memory."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import httpx
import pytest
from rich.console import Console
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, Static

from muster.cli.top.app import Top
from muster.cli.top.rows import Rows
from muster.client import Client
from muster.model.errors import Unreachable
from tests.unit.cli.cluster import an_event, fill
from tests.unit.client.fake_server import FakeServer, Json, a_job, a_problem, a_running_job

TRIES = 400
PAUSE_S = 0.02
"""What the threads find is on the screen within this many pauses."""

Scene = Callable[[Pilot[None], Top], Coroutine[Any, Any, None]]
HOSTILE = "evil\x1b]0;owned\x07\u202e[red]x[/red]"


@pytest.fixture
def server() -> FakeServer:
    made = FakeServer()
    fill(made)
    why: Json = {"job": "job-18", "state": "running", "position": None, "reasons": [], "estimate": None, "hold": None}
    made.answers["GET /v1/jobs/job-18/why"] = why
    # What started first stands first.
    made.jobs["job-12"]["started"] = "2026-03-02T08:00:00Z"
    return made


@pytest.fixture(autouse=True)
def threads_end() -> Iterator[None]:
    """No thread of the screen outlives it for long."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=5)
        assert not thread.is_alive(), thread


def play(server: FakeServer, scene: Scene, size: tuple[int, int] = (120, 40)) -> None:
    """Show the screen, let a scene happen on it, and leave."""

    def connect(pause: Callable[[float], None]) -> Client:
        return Client("http://127.0.0.1:8470", "secret", tries=1, transport=server.transport, sleep=pause)

    async def run() -> None:
        top = Top(connect, Console(width=size[0]), every_s=0.2)
        async with top.run_test(size=size, notifications=True) as pilot:
            await until(pilot, lambda: "live" in text(top, "head"))
            await scene(pilot, top)

    asyncio.run(run())


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    for _ in range(TRIES):
        if holds():
            return
        await pilot.pause(PAUSE_S)
    raise AssertionError(screen_of(pilot.app))


def text(top: Top, widget: str) -> str:
    """What a widget shows."""
    return "\n".join(strip.text for strip in top.query_one(f"#{widget}", Static).render_lines(top.screen.region))


def rows_of(top: Top) -> str:
    rows = top.query_one(Rows)
    return "\n".join(rows.render_line(y).text.rstrip() for y in range(rows.size.height))


def screen_of(app: Any) -> str:
    """All that is on the screen, as text."""
    width, height = app.size
    lines = app.screen._compositor.render_strips(app.size)
    assert len(lines) == height
    return "\n".join(strip.text[:width].rstrip() for strip in lines)


def keys_of(top: Top) -> list[str]:
    return list(top.query_one(Rows)._keys)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (40, 12)])
def test_the_whole_picture_is_on_one_screen(server: FakeServer, size: tuple[int, int]) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        words = ["48.25 of 63 GPUs", "job-12", "log of rank 0", "step 3", "? help"]
        if size[1] >= 24:
            words += ["n1 AAAAAAAA", "main", "spot", "standard"]
        # The layout follows the size of the window one frame after the first answer.
        await until(pilot, lambda: all(word in screen_of(top) for word in words))

    play(server, scene, size)


def test_a_waiting_job_says_why_and_when(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("w")
        await until(pilot, lambda: "needs 64 h100, 21 are free" in screen_of(top))
        assert "would help: 43 more free h100" in screen_of(top)
        assert "promised" in screen_of(top)
        assert keys_of(top) == ["job-15", "job-16", "job-17", "job-19"]

    play(server, scene)


def test_the_log_of_another_rank_can_be_followed(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await until(pilot, lambda: "step 3 loss=3.1" in screen_of(top))
        server.logs["job-12", 0, 2] += b"step 4 loss=2.9\n"
        await until(pilot, lambda: "step 4 loss=2.9" in screen_of(top))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "ready again" in screen_of(top))
        await pilot.press("left_square_bracket", "left_square_bracket")
        await until(pilot, lambda: "step 4" in screen_of(top))
        await pilot.press("enter")
        await until(pilot, lambda: "all jobs" not in screen_of(top))
        await pilot.press("enter")
        await until(pilot, lambda: "all jobs" in screen_of(top))

    play(server, scene)


def test_an_array_says_how_its_tasks_fare(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("r", "slash", *"sweep", "enter")
        await until(pilot, lambda: "tasks: 12 succeeded, 2 failed, 8 running, 78 blocked" in screen_of(top))

    play(server, scene)


def test_keys_that_come_at_once_are_words_after_the_slash(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("slash", *"half", "enter")
        await until(pilot, lambda: keys_of(top) == ["job-14"])
        assert "about: half" in text(top, "bar")
        await pilot.press("c", "n")
        await pilot.press("slash", "q", "slash", "enter")
        await until(pilot, lambda: keys_of(top) == [])
        assert "nothing to show" in screen_of(top)
        await pilot.press("escape")
        await until(pilot, lambda: len(keys_of(top)) == 8)
        assert top.query_one(Input).display is False

    play(server, scene)
    assert server.bodies("POST", "/v1/jobs/job-14/cancel") == []


def test_jobs_are_sorted_and_painted_with_keys(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("s")
        await until(pilot, lambda: keys_of(top)[0] == "job-15")
        assert "by GPUs" in text(top, "bar")
        await pilot.press("S")
        await until(pilot, lambda: keys_of(top)[-1] == "job-15")
        await pilot.press("m")
        await until(pilot, lambda: "nlp/pretraining" in text(top, "map"))
        await pilot.press("m", "m")
        await until(pilot, lambda: "nlp/pretraining" not in text(top, "map"))

    play(server, scene)


@pytest.mark.parametrize(("key", "verb"), [("c", "cancel"), ("h", "hold"), ("u", "release")])
def test_a_job_is_changed_only_after_a_yes(server: FakeServer, key: str, verb: str) -> None:
    asked = f"/v1/jobs/job-14/{verb}"

    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("slash", *"half", "enter", key)
        await until(pilot, lambda: f"{verb.capitalize()} job-14 half" in screen_of(top))
        await pilot.press("enter")
        await until(pilot, lambda: "any other key" not in screen_of(top))
        assert server.bodies("POST", asked) == []
        await pilot.press(key, "y")
        await until(pilot, lambda: len(server.bodies("POST", asked)) == 1)
        await until(pilot, lambda: "job-14 is " in screen_of(top))

    play(server, scene)


@pytest.mark.parametrize(("key", "shown"), [("c", "any other key"), ("question_mark", "Any key closes this.")])
def test_keys_that_come_at_once_answer_a_question_once(server: FakeServer, key: str, shown: str) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press(key)
        await until(pilot, lambda: shown in screen_of(top))
        dialog = top.screen
        for each in "nyy":
            dialog.post_message(events.Key(each, each))
        await until(pilot, lambda: shown not in screen_of(top))
        await pilot.press("s")
        await until(pilot, lambda: "by GPUs" in text(top, "bar"))

    play(server, scene)
    assert server.bodies("POST", "/v1/jobs/job-12/cancel") == []


def test_a_refusal_is_said(server: FakeServer) -> None:
    server.answers["POST /v1/jobs/job-12/cancel"] = a_problem(403, "refused", "job-12 is not yours")

    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("c", "y")
        await until(pilot, lambda: "job-12 is not yours" in screen_of(top))

    play(server, scene)


def test_nodes_are_drained_evicted_and_undrained(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("tab")
        await until(pilot, lambda: keys_of(top)[:2] == ["n1", "n2"])
        await pilot.press("down", "d", "y")
        await until(pilot, lambda: "n2 is draining" in screen_of(top))
        await pilot.press("u", "y")
        await until(pilot, lambda: "n2 is ready" in screen_of(top))
        await pilot.press("j", "d", "e", "k", "c", "enter", "enter")
        await until(pilot, lambda: server.bodies("POST", "/v1/nodes/n3/drain") == [{"evict": True}])
        await pilot.press("tab")
        await until(pilot, lambda: "job-12" in keys_of(top))

    play(server, scene)
    assert server.bodies("POST", "/v1/nodes/n2/drain") == [{}]


def test_an_event_brings_what_is_new(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        server.jobs["job-99"] = a_running_job("job-99", name="fresh", nodes=("n6",))
        server.events.append(an_event(2000, "job_started", "12:00:00", "job-99"))
        await until(pilot, lambda: "fresh" in rows_of(top))

    play(server, scene)


def test_the_cursor_stays_on_its_job_when_others_come_and_go(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("end", "up")
        chosen = top.query_one(Rows).key
        assert chosen == "job-17"
        del server.jobs["job-12"]
        await until(pilot, lambda: "job-12" not in keys_of(top))
        assert top.query_one(Rows).key == chosen
        await pilot.press("home", "pagedown", "pageup", "g", "G")
        assert top.query_one(Rows).key == "job-19"
        await pilot.click("#rows", offset=(5, 2))
        assert top.query_one(Rows).key == keys_of(top)[1]

    play(server, scene)


def test_a_lost_server_is_shown_and_what_was_seen_stays_until_it_is_back(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        is_lost = True
        usual = server._routed

        def routed(request: httpx.Request) -> httpx.Response:
            if is_lost:
                raise httpx.ConnectError("refused", request=request)
            return usual(request)

        server._routed = routed  # type: ignore[method-assign]
        await until(pilot, lambda: "no answer, trying again: no server answers" in screen_of(top))
        assert "job-12" in rows_of(top)
        is_lost = False
        await until(pilot, lambda: "live" in text(top, "head"))

    play(server, scene)


def test_a_server_that_comes_back_elsewhere_is_found(server: FakeServer) -> None:
    asked: list[str] = []

    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    def connect(pause: Callable[[float], None]) -> Client:
        asked.append("")
        if len(asked) == 2:
            raise Unreachable("no server is known")
        below = httpx.MockTransport(gone) if len(asked) == 1 else server.transport
        return Client(f"http://127.0.0.1:{8000 + len(asked)}", "secret", tries=1, transport=below, sleep=pause)

    async def run() -> None:
        top = Top(connect, Console(width=100), every_s=0.2)
        async with top.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: "no server is known" in screen_of(top))
            await until(pilot, lambda: "http://127.0.0.1:8003" in screen_of(top))

    asyncio.run(run())


def test_names_that_others_chose_are_text(server: FakeServer) -> None:
    server.jobs["job-12"] |= {"name": HOSTILE, "team": HOSTILE, "user": HOSTILE, "tier": HOSTILE}
    server.nodes[0] |= {"name": HOSTILE, "pool": HOSTILE, "because": HOSTILE, "domains": {"rack": HOSTILE}}
    server.answers["POST /v1/jobs/job-12/cancel"] = a_problem(403, "refused", HOSTILE)
    server.logs["job-12", 0, 2] = HOSTILE.encode()

    async def scene(pilot: Pilot[None], top: Top) -> None:
        seen = []
        for key in ("c", "y", "tab", "d", "n", "tab", "m", "m", "enter"):
            await pilot.press(key)
            await pilot.pause(0.1)
            seen.append(screen_of(top))
        told = "\n".join(seen)
        assert "evil\\x1b]0;owned\\x07\\u202e[red]x[/red]" in told
        assert not any(sign in told for sign in "\x1b\x07\u202e")

    play(server, scene, (200, 50))


def test_help_lists_the_keys_and_any_key_closes_it(server: FakeServer) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("question_mark")
        await until(pilot, lambda: "letters of the map" in screen_of(top))
        await pilot.press("down", "x")
        await until(pilot, lambda: "letters of the map" not in screen_of(top))

    play(server, scene, (80, 24))


def test_thousands_of_jobs_are_scrolled(server: FakeServer) -> None:
    server.jobs = {f"job-{number}": a_job(f"job-{number}", name="many") for number in range(1, 400)}

    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press("end")
        await until(pilot, lambda: "job-399" in rows_of(top))
        await pilot.press("home")
        await until(pilot, lambda: "job-1 " in rows_of(top))

    play(server, scene)


@pytest.mark.parametrize("keys", [["q"], ["ctrl+c"], ["slash", "x", "ctrl+c"]])
def test_the_screen_can_be_left(server: FakeServer, keys: list[str]) -> None:
    async def scene(pilot: Pilot[None], top: Top) -> None:
        await pilot.press(*keys)
        await until(pilot, lambda: not top.is_running or top._exit)

    play(server, scene)


def test_without_colours_text_is_left_in_those_of_the_terminal(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def scene(pilot: Pilot[None], top: Top) -> None:
        assert [type(each).__name__ for each in top._filters if each.enabled] == ["NoColor"]

    play(server, scene)
