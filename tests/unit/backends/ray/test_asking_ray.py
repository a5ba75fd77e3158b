"""What the driver of Ray is asked, and what happens when it does not answer. The driver is pretended."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import AllocationId, AllocationRequest, EngineSilent, NodeShare, RequestRefused
from muster.backends.ray import driver as module
from muster.backends.ray.driver import PAUSES_S, RayDriver, RayPlace
from muster.backends.ray.engine import RayEngine, RaySettings
from muster.backends.ray.script import NODES_PYTHON
from muster.model.ids import EngineName, JobId, NodeName
from tests.unit.backends.ray.builders import a_keeper, a_node, an_entry

ARRIVAL = AgentDelivery(urls="https://muster.example:8470", python=NODES_PYTHON, mark="m1", agent=b"PK")
N0, N1 = NodeName("n0"), NodeName("n1")

PRETENDED = """
import json, sys
said = json.loads(sys.argv[0] and open(FILE).read())
for line in sys.stdin:
    message = json.loads(line)
    answer = said.get(message.get("call", "connect"), {"answer": message})
    if answer == "end":
        sys.exit(3)
    if answer != "hang":
        print(json.dumps(answer), flush=True)
"""


class PretendedDriver(RayDriver):
    """Answers as a test wants."""

    def __init__(self, *nodes: dict[str, Any]) -> None:
        self.nodes = list(nodes)
        self.calls: list[tuple[str, Mapping[str, Any]]] = []

    def call(self, name: str, **details: object) -> Any:
        self.calls.append((name, details))
        return self.nodes if name == "look" else None


def an_engine(driver: RayDriver, booked: dict[AllocationId, tuple[NodeName, ...]] | None = None) -> RayEngine:
    return RayEngine(
        RaySettings(name=EngineName("ray"), output=Path("/scratch")),
        driver,
        arrival=lambda: ARRIVAL,
        booked=lambda: booked or {},
    )


def a_request() -> AllocationRequest:
    shares = (NodeShare(nodes=(N0,), gpus=8), NodeShare(nodes=(N1,), gpus=2))
    return AllocationRequest(
        id=AllocationId("ab12"), job=JobId("job-1"), attempt=2, shares=shares, limit_s=60, token="secret"
    )


def test_the_keepers_of_the_nodes_that_were_chosen_are_asked_and_no_others() -> None:
    driver = PretendedDriver()
    assert an_engine(driver).submit(a_request()) == "ab12"
    ((name, details),) = driver.calls
    orders = details["orders"]
    assert name == "submit"
    assert {node: (order["gpus"], order["nodes"], order["limit_s"]) for node, order in orders.items()} == {
        "n0": (8, ["n0", "n1"], 60),
        "n1": (2, ["n0", "n1"], 60),
    }
    files = orders["n1"]["files"]
    assert files["token"] == "secret"
    assert "secret" not in files["run.sh"]
    assert '--post "ab12@n1"' in files["run.sh"]
    assert "exec > /scratch/muster-job-1-2-n1.out 2>&1" in files["run.sh"]
    assert files["run.sh"].index("begun") < files["run.sh"].index(NODES_PYTHON)


def test_nodes_and_allocations_are_asked_for_at_once() -> None:
    driver = PretendedDriver(a_node())
    engine = an_engine(driver)
    assert engine.look() == ()
    assert [each.node.name for each in engine.inventory()] == ["n0"]
    assert [name for name, _ in driver.calls] == ["look"]


def test_a_node_that_was_alive_is_told_of_when_it_is_dead_and_one_that_was_not_is_not() -> None:
    driver = PretendedDriver(a_node("n0"), a_node("n1", alive=False, keeper=None))
    engine = an_engine(driver)
    assert [each.node.name for each in engine.inventory()] == ["n0"]
    driver.nodes = [a_node("n0", alive=False, keeper=None)]
    engine.look()
    assert [each.because for each in engine.inventory()] == ["Ray has lost it"]


def test_what_was_cancelled_and_lives_is_told_again() -> None:
    driver = PretendedDriver(a_node(keeper=a_keeper(an_entry(nodes=("n0",)))))
    engine = an_engine(driver)
    engine.look()
    engine.cancel("ab12")
    engine.look()
    assert [name for name, _ in driver.calls] == ["look", "end", "look", "end"]


def test_what_is_remembered_of_cancelled_ones_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.backends.ray.engine.UNWANTED_MOST", 1)
    driver = PretendedDriver(a_node(keeper=a_keeper(an_entry(nodes=("n0",)))))
    engine = an_engine(driver)
    engine.cancel("ab12")
    engine.cancel("cd34")
    engine.look()
    assert [details.get("id") for _, details in driver.calls] == ["ab12", "cd34", None]


class Pretence:
    """A driver as a process that says what a test wants."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        self._answers = folder / "answers.json"
        program = folder / "program.py"
        program.write_text(PRETENDED.replace("FILE", repr(str(self._answers))), "utf-8")
        monkeypatch.setattr(module, "PROGRAM", program)
        monkeypatch.setattr("muster.backends.ray.driver.time.monotonic", lambda: self.now_s)
        self.driver = RayDriver(self.place("python3"))

    def place(self, python: str) -> RayPlace:
        return RayPlace(address="10.0.0.1:6379", python=python, mark=lambda: "m1", agent=lambda: b"PK")

    def says(self, **answers: object) -> None:
        """What the next driver answers."""
        self._answers.write_text(json.dumps(answers), "utf-8")


@pytest.fixture
def pretence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Pretence(tmp_path, monkeypatch)
    made.says()
    yield made
    made.driver.close()


def test_a_driver_is_begun_once_and_asked_in_lines(pretence: Pretence) -> None:
    assert pretence.driver.call("end", id="ab12") == {"call": "end", "id": "ab12"}
    process = pretence.driver._process
    assert pretence.driver.call("look") == {"call": "look"}
    assert pretence.driver._process is process


def test_a_refusal_is_the_requests(pretence: Pretence) -> None:
    pretence.says(submit={"refused": "n1: no disk"})
    with pytest.raises(RequestRefused, match="n1: no disk"):
        pretence.driver.call("submit")
    assert pretence.driver.call("look")


def test_a_ray_that_cannot_be_asked_now_has_the_same_driver(pretence: Pretence) -> None:
    pretence.says(look={"silent": "nothing answers at 10.0.0.1:6379"})
    with pytest.raises(EngineSilent, match="nothing answers"):
        pretence.driver.call("look")
    assert pretence.driver.call("end")


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ({"connect": {"silent": "python3 has no Ray"}}, "has no Ray"),
        ({"look": {"silent": "RaySystemError: gone", "is_over": True}}, "gone"),
        ({"look": "end"}, r"the driver of Ray has ended \(exit code 3\)|the driver of Ray has ended"),
    ],
)
def test_a_driver_that_is_over_is_begun_anew_after_a_pause(
    pretence: Pretence, answers: dict[str, Any], problem: str
) -> None:
    pretence.says(**answers)
    with pytest.raises(EngineSilent, match=problem):
        pretence.driver.call("look")
    assert pretence.driver._process is None
    pretence.says()
    with pytest.raises(EngineSilent, match=problem):
        pretence.driver.call("look")  # too early
    pretence.now_s += PAUSES_S[0]
    assert pretence.driver.call("look")


def test_pauses_grow_to_a_bound(pretence: Pretence) -> None:
    pretence.says(connect={"silent": "no"})
    for pause_s in (*PAUSES_S, PAUSES_S[-1]):
        with pytest.raises(EngineSilent):
            pretence.driver.call("look")
        assert pretence.driver._again_s == pretence.now_s + pause_s
        pretence.now_s += pause_s


def test_a_ray_that_hangs_costs_the_driver(pretence: Pretence, monkeypatch: pytest.MonkeyPatch) -> None:
    pretence.says(look="hang")
    pretence.driver.call("end")
    monkeypatch.setattr(module, "ENGINE_CALL_S", 0.0)
    with pytest.raises(EngineSilent, match=r"Ray has not answered for 0 s: is its head at 10\.0\.0\.1:6379 well"):
        pretence.driver.call("look")
    assert pretence.driver._process is None


def test_an_answer_without_end_is_not_read_for_ever(pretence: Pretence, monkeypatch: pytest.MonkeyPatch) -> None:
    pretence.driver.call("end")
    monkeypatch.setattr(module, "ANSWER_BYTES", 1)
    monkeypatch.setattr(module, "READ_BYTES", 2)
    with pytest.raises(EngineSilent, match="the driver of Ray has ended"):
        pretence.driver.call("look")


def test_a_python_that_is_not_there_is_said(pretence: Pretence) -> None:
    driver = RayDriver(pretence.place("/no/such/python"))
    with pytest.raises(EngineSilent, match=r"/no/such/python cannot be run .* with the key `driver`"):
        driver.call("look")


def test_the_agents_file_and_the_mark_are_no_secret_of_the_description(pretence: Pretence) -> None:
    assert "PK" not in repr(pretence.place("python3"))
