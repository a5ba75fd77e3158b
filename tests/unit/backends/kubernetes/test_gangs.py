"""What is made of pods and of the service of a gang."""

from typing import Any

import pytest

from muster.backends.allocations.engine import AllocationPhase
from muster.backends.kubernetes.gangs import (
    IN_ORDER,
    PodGang,
    Present,
    end_of,
    gangs_of,
    note_of,
    service_from,
)
from muster.backends.kubernetes.pods import CREATING_S, STUCK_S, PodEnd, PodSeen
from muster.model.job import Cause
from tests.unit.backends.kubernetes.builders import a_pod, a_service

ENDING, ENDED = AllocationPhase.ENDING, AllocationPhase.ENDED


def a_gang(*pods: PodSeen, service: Any = None, **details: Any) -> PodGang:
    owner = a_service(pods=len(pods)) if service is None else service
    return PodGang(service=service_from(owner), pods=pods, **details)


def disrupted(reason: str) -> dict[str, Any]:
    return {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "said so"}]}


def ended(reason: str, code: int = 1, message: str = "") -> dict[str, Any]:
    return {"terminated": {"reason": reason, "exitCode": code, "message": message}}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def test_a_gang_waits_until_all_of_its_pods_run() -> None:
    seen = a_gang(a_pod("p1"), a_pod("p2", "Pending")).seen()
    assert (seen.phase, seen.engine_id, seen.id) == (AllocationPhase.WAITING, "muster-ab12", "ab12")
    seen = a_gang(a_pod("p1"), a_pod("p2", node="n2")).seen()
    assert (seen.phase, seen.nodes) == (AllocationPhase.RUNNING, ("n1", "n2"))


def test_a_gang_whose_agents_have_ended_is_to_be_removed() -> None:
    seen = a_gang(a_pod("p1", "Succeeded"), a_pod("p2", "Succeeded")).seen()
    assert (seen.phase, seen.cause, seen.needs_cancel) == (ENDED, None, True)


@pytest.mark.parametrize(
    ("pod", "cause", "because"),
    [
        (a_pod(leaving=True), Cause.CANCELLED, "pod p1 was deleted in Kubernetes"),
        (a_pod(leaving=True, status=disrupted("PreemptionByScheduler")), Cause.PREEMPTED, "pod p1 was preempted"),
        (a_pod(leaving=True, status=disrupted("EvictionByEvictionAPI")), Cause.PREEMPTED, "evicted in Kubernetes"),
        (a_pod(leaving=True, status=disrupted("DeletionByTaintManager")), Cause.NODE_FAILURE, "a taint of its node"),
        (
            a_pod("p1", "Failed", status={"reason": "Evicted", "message": "low on memory"}),
            Cause.NODE_FAILURE,
            "evicted",
        ),
        (a_pod("p1", "Failed", status={"reason": "Evicted", "message": "shm exceeds"}), Cause.OOM, "evicted"),
        (a_pod("p1", "Failed", status={"reason": "OutOfcpu", "message": "full"}), Cause.START_FAILURE, "has no room"),
        (a_pod("p1", "Failed", status={"reason": "DeadlineExceeded"}), Cause.TIMEOUT, "its time in Kubernetes"),
        (a_pod("p1", "Failed", status=disrupted("DeletionByPodGC")), Cause.NODE_FAILURE, "its node is gone"),
        (a_pod("p1", "Failed", state=ended("OOMKilled", 137)), Cause.OOM, "ask for more memory"),
        (
            a_pod("p1", "Failed", state=ended("Error", 1, "no token")),
            Cause.NODE_FAILURE,
            "ended with code 1 (no token)",
        ),
        (a_pod("p1", "Failed", leaving=True, state=ended("Error", 137)), Cause.CANCELLED, "was deleted"),
    ],
)
def test_what_befell_a_pod_is_said_by_its_cause(pod: PodSeen, cause: Cause, because: str) -> None:
    seen = a_gang(pod, a_pod("p2")).seen()
    assert (seen.phase, seen.cause, seen.needs_cancel) == (ENDING, cause, True)  # the rest still runs
    assert because in seen.because
    assert not seen.is_mistake


@pytest.mark.parametrize("state", [ended("StartError", 128), ended("Error", 127, "the image has no python3")])
def test_an_image_that_cannot_run_an_agent_is_the_jobs_mistake(state: dict[str, Any]) -> None:
    seen = a_gang(a_pod("p1", "Failed", state=state)).seen()
    assert (seen.phase, seen.is_mistake) == (ENDED, True)
    assert "python" in seen.because.lower()


@pytest.mark.parametrize(
    ("pod", "because", "is_hopeless"),
    [
        (a_pod("p1", "Pending", state=waiting("ErrImagePull", "not found")), "image base:1 cannot be pulled", False),
        (a_pod("p1", "Pending", state=waiting("InvalidImageName")), "is not the name of an image", True),
        (a_pod("p1", "Pending", state=waiting("CreateContainerConfigError", "no secret")), "(no secret)", False),
        (
            a_pod(
                "p1",
                "Pending",
                status={"conditions": [{"type": "PodScheduled", "status": "False", "message": "Insufficient cpu."}]},
            ),
            "finds no place for it (Insufficient cpu)",
            False,
        ),
    ],
)
def test_a_pod_that_cannot_run_says_why_and_is_given_up(pod: PodSeen, because: str, is_hopeless: bool) -> None:
    seen = a_gang(pod).seen()
    assert seen.phase is (ENDING if is_hopeless else AllocationPhase.WAITING)
    assert because in seen.because
    late = a_gang(pod, waits_s=STUCK_S + 1).seen()
    assert (late.phase, late.cause, late.needs_cancel) == (ENDING, Cause.START_FAILURE, True)
    assert because in late.because
    assert late.is_mistake is ("is not the name" in because or "cannot be pulled" in because)


def test_a_container_that_is_not_made_has_as_long_as_a_large_image_takes() -> None:
    pod = a_pod("p1", "Pending", state=waiting("ContainerCreating"))
    seen = a_gang(pod, waits_s=STUCK_S + 1).seen()
    assert seen.phase is AllocationPhase.WAITING
    assert "whether a volume is missing" in seen.because
    assert a_gang(pod, waits_s=CREATING_S + 1).seen().cause is Cause.START_FAILURE


def test_pods_on_nodes_that_do_not_answer_are_lost_and_end_nothing() -> None:
    seen = a_gang(a_pod("p1"), a_pod("p2", node="n2"), down=("n2",)).seen()
    assert (seen.phase, seen.nodes) == (AllocationPhase.RUNNING, ("n1",))
    taken = a_pod("p2", node="n2", leaving=True, status=disrupted("DeletionByTaintManager"))
    assert a_gang(a_pod("p1"), taken, down=("n2",)).seen().nodes == ("n1",)
    # Once the gang is deleted, what may still be there cannot be reached.
    assert a_gang(taken, service=a_service(leaving=True), down=("n2",)).seen().phase is ENDED
    # Agents of the others have ended in order.
    assert a_gang(a_pod("p1", "Succeeded"), taken, down=("n2",)).seen().phase is ENDED


def test_a_gang_that_was_never_whole_is_ended() -> None:
    seen = a_gang(a_pod("p1"), service=a_service(pods=2)).seen()
    assert (seen.phase, seen.cause, seen.needs_cancel) == (ENDING, None, True)
    assert seen.because == "not all pods of muster-ab12 are there"
    vanished = a_gang(a_pod("p1"), service=a_service(pods=2), gone=(a_pod("p2"),)).seen()
    assert vanished.because == "not all pods of muster-ab12 are there: p2"


def test_what_is_deleted_without_a_note_was_deleted_by_somebody_else() -> None:
    seen = a_gang(a_pod("p1", leaving=True), service=a_service(leaving=True)).seen()
    assert (seen.phase, seen.cause, seen.needs_cancel) == (ENDING, Cause.CANCELLED, False)
    assert seen.because == "service muster-ab12 was deleted in Kubernetes"
    orphan = PodGang(service=None, pods=(a_pod("p1", leaving=True),)).seen()
    assert (orphan.phase, orphan.cause, orphan.engine_id) == (ENDING, Cause.CANCELLED, "muster-ab12")
    evicted = a_pod("p1", leaving=True, status=disrupted("EvictionByEvictionAPI"))
    assert PodGang(service=None, pods=(evicted,)).seen().cause is Cause.PREEMPTED


def test_what_broke_a_gang_is_noted_and_read_again() -> None:
    end = PodEnd(cause=Cause.PREEMPTED, because="said so")
    assert end_of(note_of(end)) == end
    assert end_of(note_of(IN_ORDER)) == IN_ORDER == end_of("{") == end_of("[]")
    leaving = a_service(leaving=True, ended=note_of(end))
    # The others were deleted with it, which is no reason of its own.
    seen = a_gang(a_pod("p1", leaving=True), service=leaving).seen()
    assert (seen.phase, seen.cause, seen.because) == (ENDING, Cause.PREEMPTED, "said so")
    half = a_gang(a_pod("p1"), service=a_service(ended=note_of(end))).seen()
    assert (half.phase, half.cause, half.needs_cancel) == (ENDING, Cause.PREEMPTED, True)
    wanted = a_gang(a_pod("p1", leaving=True), service=a_service(leaving=True, ended=note_of(IN_ORDER))).seen()
    assert wanted.cause is None


def test_gangs_are_put_together_by_their_allocation() -> None:
    service = service_from(a_service(pods=2))
    pods = Present(there=(a_pod("p1"),), gone=(a_pod("p2"),))
    (gang,) = gangs_of(Present(there=(service,)), pods, ("n9",), {"ab12": 5.0})
    assert (gang.pods, gang.gone, gang.waits_s, gang.is_gone) == ((a_pod("p1"),), (a_pod("p2"),), 5.0, False)
    (orphan,) = gangs_of(Present(), pods, (), {})
    assert (orphan.service, orphan.is_gone) == (None, True)


def test_a_gang_that_went_a_moment_ago_says_why() -> None:
    evicted = a_pod("p1", leaving=True, status=disrupted("EvictionByEvictionAPI"))
    end = PodEnd(cause=Cause.OOM, because="said so")
    noted = service_from(a_service(leaving=True, ended=note_of(end)))
    (gang,) = gangs_of(Present(gone=(noted,)), Present(gone=(evicted,)), (), {})
    assert (gang.seen().phase, gang.seen().cause, gang.seen().needs_cancel) == (ENDED, Cause.OOM, False)
    (gang,) = gangs_of(Present(), Present(gone=(evicted,)), (), {})
    assert (gang.seen().cause, gang.seen().engine_id) == (Cause.PREEMPTED, "muster-ab12")
    (gang,) = gangs_of(Present(gone=(service_from(a_service()),)), Present(), (), {})
    assert (gang.seen().phase, gang.seen().cause) == (ENDED, Cause.CANCELLED)
