"""What a control plane does by itself: binds pods, collects garbage, misses nodes, takes pods off them."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

from muster.backends.kubernetes.quantities import amount_of
from tests.kube.store import FOREGROUND, Answer, Object, Store, asked, now

UNREACHABLE = "node.kubernetes.io/unreachable"
MISSED_S = 5.0
"""After how long without a word a node is not ready. Real clusters wait for about 40 s."""


class Controllers:
    """Runs them all, one after another, whenever something has changed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.collects = True
        """False for a garbage collector that is slow to begin."""
        self.heard_s: dict[str, float] = {}
        """When each node was heard last, by a monotonic clock."""
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="controllers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_closed.wait(0.03):
            for step in self._steps():
                with suppress(Answer):
                    step()

    def _steps(self) -> tuple[Callable[[], None], ...]:
        return (self._schedule, self._collect, self._miss_nodes)

    def _schedule(self) -> None:
        with self.store.changed:
            for pod in self.store.all("pods"):
                about = pod["metadata"]
                if pod["spec"].get("nodeName") or "deletionTimestamp" in about or pod["status"]["phase"] != "Pending":
                    continue
                problems = {node["metadata"]["name"]: self._problem(pod, node) for node in self.store.all("nodes")}
                fitting = [name for name, problem in problems.items() if not problem]
                key = ("pods", about["namespace"], about["name"])
                if fitting:
                    bound = {"type": "PodScheduled", "status": "True"}
                    self.store.patch(key, {"spec": {"nodeName": fitting[0]}, "status": {"conditions": [bound]}})
                elif not pod["status"].get("conditions"):
                    told = "; ".join(sorted(set(problems.values())))
                    message = f"0/{len(problems)} nodes are available: {told}."
                    unbound = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
                    self.store.patch(key, {"status": {"conditions": [unbound]}})
                else:
                    continue

    def _problem(self, pod: Object, node: Object) -> str:
        terms = (
            pod["spec"]
            .get("affinity", {})
            .get("nodeAffinity", {})
            .get("requiredDuringSchedulingIgnoredDuringExecution", {})
            .get("nodeSelectorTerms", [])
        )
        name = node["metadata"]["name"]
        if terms and not any(name in field["values"] for term in terms for field in term["matchFields"]):
            return "node(s) didn't match Pod's node affinity/selector"
        if node["spec"].get("unschedulable"):
            return "node(s) were unschedulable"
        for taint in node["spec"].get("taints", ()):
            if taint["effect"] != "PreferNoSchedule" and not _tolerates(pod, taint):
                return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
        on_node = [each for each in self.store.all("pods") if each["spec"].get("nodeName") == name]
        for resource, wanted in asked(pod).items():
            used = sum((asked(each).get(resource, Fraction(0)) for each in on_node), Fraction(0))
            if used + wanted > amount_of(node["status"]["allocatable"].get(resource, "0")):
                return f"Insufficient {resource}"
        return ""

    def _collect(self) -> None:
        """Objects whose owner is gone go; an owner that waits for what it owns goes after it."""
        if not self.collects:
            return
        with self.store.changed:
            living = {body["metadata"]["uid"]: body for body in self.store.objects.values()}
            for key, body in tuple(self.store.objects.items()):
                about = body["metadata"]
                owners = about.get("ownerReferences", ())
                is_orphan = bool(owners) and not any(each["uid"] in living for each in owners)
                is_taken = any(FOREGROUND in _finalizers(living.get(each["uid"])) for each in owners)
                if (is_orphan or is_taken) and "deletionTimestamp" not in about:
                    self.store.delete(key, {})
                elif FOREGROUND in _finalizers(body) and not _owned(living, about["uid"]):
                    self.store.finish(key, FOREGROUND)

    def _miss_nodes(self) -> None:
        with self.store.changed:
            for node in self.store.all("nodes"):
                name = node["metadata"]["name"]
                heard_s = self.heard_s.setdefault(name, time.monotonic())
                is_missed = time.monotonic() - heard_s > MISSED_S
                is_tainted = any(each["key"] == UNREACHABLE for each in node["spec"].get("taints", ()))
                if is_missed and not is_tainted:
                    self._mark(name, is_missed=True)
                elif is_tainted and not is_missed:
                    self._mark(name, is_missed=False)

    def _mark(self, name: str, *, is_missed: bool) -> None:
        node = self.store.get(("nodes", "", name))
        others = [each for each in node["spec"].get("taints", ()) if each["key"] != UNREACHABLE]
        taints = [{"key": UNREACHABLE, "effect": effect} for effect in ("NoSchedule", "NoExecute") if is_missed]
        status, said = ("Unknown", "Kubelet stopped posting node status.") if is_missed else ("True", "")
        ready = {"type": "Ready", "status": status, "message": said, "lastTransitionTime": now()}
        self.store.patch(
            ("nodes", "", name), {"spec": {"taints": [*others, *taints]}, "status": {"conditions": [ready]}}
        )


def _tolerates(pod: Object, taint: Object) -> bool:
    return any(
        each.get("key") == taint["key"]
        and (each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", ""))
        and each.get("effect") in (None, taint["effect"])
        for each in pod["spec"].get("tolerations", ())
    )


def _finalizers(body: Object | None) -> list[str]:
    return [] if body is None else list(body["metadata"].get("finalizers", ()))


def _owned(living: dict[str, Object], uid: str) -> list[Object]:
    return [
        body
        for body in living.values()
        if any(
            each["uid"] == uid and each.get("blockOwnerDeletion")
            for each in body["metadata"].get("ownerReferences", ())
        )
    ]
