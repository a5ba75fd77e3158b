"""Functions as jobs. The server is in memory; what it was sent is run as a job would run it."""

import json
import math
import os
import pickle
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster import Client, map_array, submit_function
from muster.model.errors import InvalidInput, JobFailed, Refused
from tests.unit.client.fake_server import FakeServer, a_job, a_problem, an_ended_job


class Odd(Exception):
    """It can be pickled, and not be read again."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fails_oddly() -> None:
    raise Odd(1, 2)


def fails() -> None:
    raise LookupError("nothing there")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MUSTER_FUNCTIONS", raising=False)
    return tmp_path / "home"


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def client(server: FakeServer, home: Path) -> Client:
    return Client("http://127.0.0.1:1", "secret", transport=server.transport, sleep=lambda _: None)


def run_as_a_job(server: FakeServer, job: str = "job-1", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run what was submitted, and let the job end as its process did."""
    spec = server.jobs[job]["spec"]
    environment = {**os.environ, **spec["env"], **variables}
    done = subprocess.run(
        ["sh", "-c", spec["run"]], cwd=spec["workdir"], env=environment, capture_output=True, text=True, check=False
    )
    state = "succeeded" if done.returncode == 0 else "failed"
    server.jobs[job] = an_ended_job(job, state=state, exit_code=done.returncode, spec=spec)
    return done


def test_the_result_is_what_the_function_returned(client: Client, server: FakeServer) -> None:
    job = submit_function(math.hypot, 3, 4, gpus=2, job={"team": "nlp", "env": {"A": "b"}}, client=client)
    (sent,) = server.bodies("POST", "/v1/jobs")
    assert (sent["job"]["name"], sent["job"]["team"], sent["job"]["resources"]) == ("hypot", "nlp", {"gpus": 2})
    assert sent["job"]["env"]["A"] == "b"
    run_as_a_job(server)
    assert job.result() == 5.0


def test_what_is_defined_where_it_is_used_can_be_sent(client: Client, server: FakeServer) -> None:
    offset = 40
    job = submit_function(lambda number, *, more: number + more + offset, 1, more=1, client=client)
    run_as_a_job(server)
    assert job.result() == 42


def test_what_the_function_raised_is_raised_with_its_traceback(client: Client, server: FakeServer) -> None:
    job = submit_function(fails, client=client)
    done = run_as_a_job(server)
    assert done.returncode == 1
    assert "LookupError: nothing there" in done.stderr
    with pytest.raises(LookupError, match="nothing there") as caught:
        job.result()
    assert re.search(
        r'line \d+, in fails\n.*raise LookupError\("nothing there"\)', str(caught.value.__cause__), re.DOTALL
    )


def test_an_exception_that_cannot_be_read_is_told(client: Client, server: FakeServer) -> None:
    job = submit_function(fails_oddly, client=client)
    run_as_a_job(server)
    with pytest.raises(JobFailed, match="job-1 failed: Odd: 1 and 2") as caught:
        job.result()
    assert "in fails_oddly" in str(caught.value.__cause__)


def test_a_result_that_cannot_be_sent_back_is_an_error_of_the_job(client: Client, server: FakeServer) -> None:
    job = submit_function(threading.Lock, client=client)
    assert run_as_a_job(server).returncode == 1
    with pytest.raises(TypeError, match="pickle"):
        job.result()


def test_a_job_that_was_killed_before_it_had_a_result_has_failed(client: Client, server: FakeServer) -> None:
    job = submit_function(math.sqrt, 4, client=client)
    server.jobs["job-1"].update(state="failed", reason="oom", exit_code=137)
    with pytest.raises(JobFailed, match="exit code 137"):
        job.result()


def test_the_result_of_an_earlier_attempt_does_not_stay(client: Client, server: FakeServer, home: Path) -> None:
    job = submit_function(os._exit, 9, client=client)
    (folder,) = (home / "functions").iterdir()
    earlier = folder / "result-0-0.pickle"
    earlier.write_bytes(pickle.dumps("earlier"))
    assert run_as_a_job(server).returncode == 9
    assert not earlier.exists()
    with pytest.raises(JobFailed):
        job.result()


class ArrayServer(FakeServer):
    """It lists the tasks of its array, the last one first."""

    def _routed(self, request: httpx.Request) -> httpx.Response:
        if (request.method, request.url.path) != ("GET", "/v1/jobs"):
            return super()._routed(request)
        spec = self.jobs["job-1"]["spec"]
        made = [a_job(f"job-1.{n}", array={"parent": "job-1", "index": n}, spec=spec) for n in (1, 0)]
        self.jobs.update({each["id"]: each for each in made})
        return httpx.Response(200, json={"items": made, "next": None})


def test_an_array_calls_the_function_once_for_each_element(home: Path) -> None:
    server = ArrayServer()
    client = Client("http://127.0.0.1:1", "secret", transport=server.transport)
    found = map_array(math.pow, [2, 3], [5, 2, 9], at_once=1, client=client)
    assert server.bodies("POST", "/v1/jobs")[0]["job"]["array"] == "0-1%1"
    assert [task.id for task in found] == ["job-1.0", "job-1.1"]
    for number, task in enumerate(found):
        run_as_a_job(server, task.id, MUSTER_ARRAY_INDEX=str(number))
        server.jobs[task.id]["array"] = {"parent": "job-1", "index": number}
    assert [task.result() for task in found] == [32.0, 9.0]


def test_an_array_without_elements_is_no_job(client: Client, server: FakeServer) -> None:
    assert map_array(math.sqrt, [], client=client) == []
    assert not server.requests


def test_only_their_owner_can_read_a_function_and_its_arguments(client: Client, home: Path) -> None:
    submit_function(math.sqrt, 4, client=client)
    found = [home / "functions", *(home / "functions").rglob("*")]
    assert len(found) == 6
    assert {stat.S_IMODE(each.stat().st_mode) for each in found} == {0o700, 0o600}


def test_nothing_pickled_is_sent_to_the_server(client: Client, server: FakeServer) -> None:
    submit_function(math.sqrt, "a secret argument", client=client)
    assert b"secret argument" not in server.requests[0].content


def test_a_result_of_another_is_not_read(
    client: Client, server: FakeServer, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job can name any folder. Reading a pickle from it would run whatever lies there."""
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    bomb = tmp_path / "ran"
    (folder / "result-0-0.pickle").write_bytes(pickle.dumps(_Bomb(bomb)))
    server.jobs["job-1"] = an_ended_job(spec={"env": {"MUSTER_FUNCTION": str(folder)}})
    (home / "functions").mkdir(parents=True, mode=0o700)
    (home / "functions" / "link").symlink_to(folder)
    server.jobs["job-2"] = an_ended_job("job-2", spec={"env": {"MUSTER_FUNCTION": str(home / "functions" / "link")}})
    for job in ("job-1", "job-2"):
        with pytest.raises(Refused, match="code of others"):
            client.job(job).result()
    monkeypatch.setenv("MUSTER_FUNCTIONS", str(tmp_path))
    tmp_path.chmod(0o755)
    with pytest.raises(Refused, match="not a private folder"):
        client.job("job-1").result()
    assert not bomb.exists()


class _Bomb:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        return open, (self._path, "w")


def test_a_refused_job_leaves_no_folder(client: Client, server: FakeServer, home: Path) -> None:
    server.failures = [a_problem(403, "refused", "no more jobs")]
    with pytest.raises(Refused):
        submit_function(math.sqrt, 4, client=client)
    with pytest.raises(InvalidInput, match="'run' cannot be given"):
        submit_function(math.sqrt, 4, job={"run": "true"}, client=client)
    with pytest.raises(InvalidInput, match=r"sqrt or one of its arguments cannot be sent to a job: TypeError"):
        submit_function(math.sqrt, threading.Lock(), client=client)
    assert list((home / "functions").iterdir()) == []


def test_without_cloudpickle_a_function_of_the_script_is_refused_by_name(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    monkeypatch.setattr(fails, "__module__", "__main__")
    with pytest.raises(InvalidInput, match=r"fails is defined in the script itself.*muster-scheduler\[functions\]"):
        submit_function(fails, client=client)


def test_without_cloudpickle_a_function_of_a_module_runs(
    client: Client, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    job = submit_function(math.sqrt, 16, client=client)
    run_as_a_job(server)
    assert job.result() == 4


def test_modules_are_found_where_the_caller_found_them(
    client: Client, server: FakeServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, "/found/here"])
    submit_function(math.sqrt, 16, client=client)
    (call,) = (home / "functions").glob("*/call.json")
    assert "/found/here" in json.loads(call.read_text("utf-8"))["path"]
