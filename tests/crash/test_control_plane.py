"""The control plane is killed before and after each durable write and each effect: nothing is lost or done twice."""

import shutil
from pathlib import Path

import pytest

from muster.client import Client
from muster.live import saved_states
from muster.model.errors import MusterError, Refused
from muster.store.sql import open_store
from tests.crash.server import Server, until

PLACES = (
    "append.before-commit",
    "append.after-commit",
    "send.before",
    "send.after",
    "reply.before",
    "reply.after",
    "acknowledge.after",
)
KILLS = 5
JOBS = 4


@pytest.mark.parametrize("place", PLACES)
def test_a_kill_loses_no_job_runs_none_twice_and_disturbs_none(tmp_path: Path, place: str) -> None:
    ran = tmp_path / "ran"
    with Server(tmp_path) as server:
        client = server.start()
        long = client.submit(_job("long", f"echo long >> {ran}; sleep 1000"))
        until(lambda: client.job(long.id).state == "running")
        server.kill()
        acknowledged: list[str] = []
        for kill in range(1, KILLS + 1):
            acknowledged += _submit_until_dead(server, server.start(f"{place}=kill@{kill}"), ran, kill)
        client = server.start()
        for kill in range(1, KILLS + 1):
            for number in range(JOBS):
                client.submit(_job(f"job-{kill}-{number}", f"echo {kill}-{number} >> {ran}"), key=f"{kill}-{number}")
        jobs = {job.name: job for job in client.jobs()}
        assert {job.id for job in jobs.values()} >= set(acknowledged)
        for job in jobs.values():
            if job.name != "long":
                assert client.wait(job.id, timeout=60).state == "succeeded", client.job(job.id)
        still = client.job(long.id)
        assert (still.state, still.attempt) == ("running", 1)
        expected = ["long", *(f"{kill}-{number}" for kill in range(1, KILLS + 1) for number in range(JOBS))]
        assert sorted(ran.read_text().split()) == sorted(expected)
        assert all(entry.name == "long" or client.job(entry.id).attempt == 1 for entry in jobs.values())


def _submit_until_dead(server: Server, client: Client, ran: Path, kill: int) -> list[str]:
    """Submit jobs, and again the last one, until the server has died; those that it acknowledged."""
    acknowledged: list[str] = []
    for number in range(JOBS):
        if server.is_dead:
            break
        try:
            spec = _job(f"job-{kill}-{number}", f"echo {kill}-{number} >> {ran}")
            acknowledged.append(client.submit(spec, key=f"{kill}-{number}").id)
        except MusterError:
            break
    server.await_death()
    return acknowledged


def _job(name: str, run: str) -> dict[str, object]:
    return {"name": name, "resources": {"gpus": 1}, "run": run}


def test_a_stop_in_good_order_saves_the_state_and_leaves_no_trace_of_a_server(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        job = server.start().submit(_job("long", "sleep 1000"))
        assert server.stop() == 0
        assert not (tmp_path / "server.json").exists()
        with open_store(f"sqlite:///{tmp_path}/muster.db", write=True) as store:
            saved = saved_states.load(store.states)
            assert saved is not None
            assert saved.state.version == store.log.version
        client = server.start()
        until(lambda: client.job(job.id).state == "running")
        assert client.job(job.id).attempt == 1


def test_a_start_says_that_jobs_of_several_subjects_share_one_account(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        client = server.start()
        client.create_token(name="ben", bindings=[{"role": "member", "team": "nlp"}])
        assert "may submit jobs" not in (tmp_path / "output").read_text()
        server.stop()
        server.start()
        assert "warning: 2 subjects may submit jobs" in (tmp_path / "output").read_text()
        assert "subjects may submit jobs" in (tmp_path / "server.log").read_text()


def test_a_second_control_plane_on_the_same_home_is_refused(tmp_path: Path) -> None:
    with Server(tmp_path) as second, Server(tmp_path) as server:  # the first to start is the first to end
        server.start()
        announced = (tmp_path / "server.json").read_text()
        second.start()
        assert second.await_death() == Refused.exit_code
        assert "another" in (tmp_path / "output").read_text()
        (tmp_path / "server.json").write_text(announced)
        assert [node.name for node in server.client.nodes()] == ["n1", "n2"]


def test_a_database_that_was_restored_from_a_copy_runs_new_jobs_and_does_not_take_them_for_old_ones(
    tmp_path: Path,
) -> None:
    database, copy, mark = tmp_path / "muster.db", tmp_path / "copy.db", tmp_path / "mark"
    with Server(tmp_path) as server:
        client = server.start()
        client.wait(client.submit(_job("before", "true")).id, timeout=60)
        server.stop()
        shutil.copy(database, copy)
        client = server.start()
        client.wait(client.submit(_job("lost", "true")).id, timeout=60)
        server.stop()
        shutil.copy(copy, database)
        client = server.start()
        job = client.wait(client.submit(_job("new", f"touch {mark}")).id, timeout=60)
        assert job.state == "succeeded"
        assert mark.exists()


def test_a_start_that_does_not_say_how_to_divide_the_machine_leaves_it_as_it_was(tmp_path: Path) -> None:
    with Server(tmp_path, nodes="3x2") as first:
        job = first.start().submit(_job("long", "sleep 1000"))
        first.stop()
        with Server(tmp_path, nodes=None) as server:
            client = server.start()
            assert len(list(client.nodes())) == 3
            until(lambda: client.job(job.id).state == "running")
            assert client.job(job.id).attempt == 1


@pytest.mark.parametrize(
    ("mistake", "told"),
    [({"workdir": "/is/not/there"}, "does not exist"), ({"secrets": ["HF_TOKEN"]}, "there is no secret HF_TOKEN")],
)
def test_a_job_that_cannot_run_as_its_file_stands_fails_and_says_why(
    tmp_path: Path, mistake: dict[str, object], told: str
) -> None:
    with Server(tmp_path) as server:
        client = server.start()
        job = client.wait(client.submit({**_job("wrong", "true"), **mistake}).id, timeout=60)
        assert (job.state, job.exit_code) == ("failed", None)
        assert told in (job.problem or "")
        assert told in (client.why(job.id).problem or "")
        assert any(told in each.text for each in client.story(job.id).sentences)
        assert told in b"".join(piece.text for piece in client.logs(job.id)).decode()
