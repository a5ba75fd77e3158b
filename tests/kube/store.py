"""The objects of a pretended cluster: versions, a history that can be watched, finalizers, slow deletion, owners."""

import copy
import json
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from muster.backends.kubernetes.quantities import amount_of

Object = dict[str, Any]
Key = tuple[str, str, str]
"""Kind in the plural, namespace, name."""

FOREGROUND = "foregroundDeletion"
HISTORY = 4_000
KINDS = {
    "nodes": "Node",
    "namespaces": "Namespace",
    "pods": "Pod",
    "services": "Service",
    "secrets": "Secret",
    "events": "Event",
    "resourcequotas": "ResourceQuota",
}


class Answer(Exception):
    """An answer that is no success, with its status and reason."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


@dataclass(frozen=True)
class Change:
    version: int
    kind: str
    type: str
    body: Object


@dataclass
class Store:
    """Everything is done under one lock; whoever watches waits for `changed`."""

    objects: dict[Key, Object] = field(default_factory=dict)
    history: deque[Change] = field(default_factory=deque)
    version: int = 100
    compacted: int = 0
    """Changes up to this version are not remembered."""
    changed: threading.Condition = field(default_factory=lambda: threading.Condition(threading.RLock()))

    def add(self, kind: str, namespace: str, body: Object) -> Object:
        with self.changed:
            body = copy.deepcopy(body)
            about = body["metadata"]
            key = (kind, namespace, about["name"])
            self._check(key, body)
            about |= {"uid": str(uuid.uuid4()), "creationTimestamp": now()}
            if namespace:
                about["namespace"] = namespace
            body |= {"kind": KINDS[kind], "apiVersion": "v1"}
            if kind == "nodes":
                body |= {"spec": body.get("spec", {}), "status": body.get("status", {"allocatable": {}})}
            if kind == "pods":
                body["status"] = {"phase": "Pending"}
                body["spec"].setdefault("terminationGracePeriodSeconds", 30)
            return self._put(key, body, "ADDED")

    def get(self, key: Key) -> Object:
        with self.changed:
            if key not in self.objects:
                raise Answer(404, "NotFound", f'{key[0]} "{key[2]}" not found')
            return self.objects[key]

    def all(self, kind: str, namespace: str = "") -> list[Object]:
        with self.changed:
            return [body for (k, n, _), body in sorted(self.objects.items()) if k == kind and namespace in ("", n)]

    def patch(self, key: Key, change: Mapping[str, Any]) -> Object:
        with self.changed:
            body = merged(self.get(key), change)
            return self._put(key, body, "MODIFIED")

    def delete(self, key: Key, options: Mapping[str, Any]) -> Object:
        """Mark an object as leaving, and remove it as soon as nothing holds it."""
        with self.changed:
            body = copy.deepcopy(self.get(key))
            about = body["metadata"]
            if options.get("propagationPolicy") == "Foreground":
                about["finalizers"] = list(dict.fromkeys([*about.get("finalizers", ()), FOREGROUND]))
            grace_s = self._grace_s(key[0], body, options)
            if grace_s == 0 and not about.get("finalizers"):
                return self._remove(key)
            if "deletionTimestamp" not in about or grace_s < about.get("deletionGracePeriodSeconds", 0):
                about |= {"deletionTimestamp": now(), "deletionGracePeriodSeconds": grace_s}
            return self._put(key, body, "MODIFIED")

    def finish(self, key: Key, finalizer: str) -> None:
        """What held an object is done."""
        with self.changed:
            body = copy.deepcopy(self.get(key))
            body["metadata"]["finalizers"].remove(finalizer)
            self._put(key, body, "MODIFIED")
            if not body["metadata"]["finalizers"]:
                self._remove(key)

    def compact(self) -> None:
        """Forget all changes until now."""
        with self.changed:
            self.compacted = self.version
            self.history.clear()

    def since(self, version: int, kind: str) -> list[Change]:
        """Changes after a version. Raises 410 when they are not all remembered."""
        with self.changed:
            if version < self.compacted:
                raise Answer(410, "Expired", f"too old resource version: {version} ({self.compacted})")
            return [each for each in self.history if each.version > version and each.kind == kind]

    def _check(self, key: Key, body: Object) -> None:
        kind, namespace, name = key
        if namespace:
            home = self.objects.get(("namespaces", "", namespace))
            if home is None:
                raise Answer(404, "NotFound", f'namespaces "{namespace}" not found')
            if "deletionTimestamp" in home["metadata"]:
                words = f"unable to create new content in namespace {namespace} because it is being terminated"
                raise Answer(403, "Forbidden", f'{kind} "{name}" is forbidden: {words}')
        if key in self.objects:
            raise Answer(409, "AlreadyExists", f'{kind} "{name}" already exists')
        if len(name) > 63 or not name.replace("-", "").replace(".", "").isalnum():
            raise Answer(422, "Invalid", f'{KINDS[kind]} "{name}" is invalid: metadata.name')
        if kind == "pods":
            _check_pod(body)
            self._check_quota(namespace, body)

    def _check_quota(self, namespace: str, body: Object) -> None:
        for quota in self.all("resourcequotas", namespace):
            for name, hard in quota["spec"]["hard"].items():
                used = sum(asked(each).get(name.removeprefix("requests."), 0) for each in self.all("pods", namespace))
                wanted = asked(body).get(name.removeprefix("requests."), Fraction(0))
                if wanted and used + wanted > amount_of(hard):
                    told = f"requested: {name}={wanted}, used: {name}={used}, limited: {name}={hard}"
                    pod, limit = body["metadata"]["name"], quota["metadata"]["name"]
                    raise Answer(403, "Forbidden", f'pods "{pod}" is forbidden: exceeded quota: {limit}, {told}')

    def _grace_s(self, kind: str, body: Object, options: Mapping[str, Any]) -> int:
        if kind == "namespaces":
            return 0
        if kind != "pods" or not body["spec"].get("nodeName") or body["status"]["phase"] in ("Succeeded", "Failed"):
            return 0
        wanted = options.get("gracePeriodSeconds")
        return int(body["spec"]["terminationGracePeriodSeconds"] if wanted is None else wanted)

    def _put(self, key: Key, body: Object, type_: str) -> Object:
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        if type_ == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = body
        self.history.append(Change(self.version, key[0], type_, copy.deepcopy(body)))
        if len(self.history) > HISTORY:
            self.compacted = self.history.popleft().version
        self.changed.notify_all()
        return body

    def _remove(self, key: Key) -> Object:
        return self._put(key, copy.deepcopy(self.get(key)), "DELETED")


def _check_pod(body: Object) -> None:
    for container in body["spec"]["containers"]:
        for amounts in container.get("resources", {}).values():
            for name, amount in amounts.items():
                if "/" in name and amount_of(amount).denominator != 1:
                    raise Answer(
                        422, "Invalid", f'Pod is invalid: {name}: Invalid value: "{amount}": must be an integer'
                    )
    for volume in body["spec"].get("volumes", ()):
        if not any(volume["name"] == each["name"] for c in body["spec"]["containers"] for each in c["volumeMounts"]):
            raise Answer(422, "Invalid", f"Pod is invalid: volume {volume['name']} is not mounted")


def asked(pod: Object) -> dict[str, Fraction]:
    """What a pod asks for, unless it has ended."""
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    total: dict[str, Fraction] = {"pods": Fraction(1)}
    for container in pod["spec"]["containers"]:
        resources = container.get("resources", {})
        for name, value in {**resources.get("limits", {}), **resources.get("requests", {})}.items():
            total[name] = total.get(name, Fraction(0)) + amount_of(value)
    return total


def merged(body: Any, change: Any) -> Any:
    """A merge patch."""
    if not isinstance(change, dict):
        return change
    found = dict(body) if isinstance(body, dict) else {}
    for name, value in change.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found


def matches(body: Object, selector: str, fields: str) -> bool:
    """True for an object with these labels and fields."""
    labels = body["metadata"].get("labels", {})
    for part in filter(None, selector.split(",")):
        name, is_equal, value = part.partition("=")
        if name not in labels or (is_equal and labels[name] != value):
            return False
    for part in filter(None, fields.split(",")):
        name, _, value = part.partition("=")
        found: Any = body
        for step in name.split("."):
            found = found.get(step, "") if isinstance(found, dict) else ""
        if str(found) != value:
            return False
    return True


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def lines(changes: list[Change], passes: Callable[[Object], bool]) -> Iterator[bytes]:
    for each in changes:
        if passes(each.body):
            yield json.dumps({"type": each.type, "object": each.body}).encode() + b"\n"
