"""Kubelets for the tests: they run the pods of their nodes as processes of this machine, each in namespaces of its own.

A pod has its volumes where its manifest says, its own processes, and the names of all pods. GPUs are pretended.
"""

import base64
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muster.backends.allocations.engine import EngineSilent, RequestRefused
from muster.backends.kubernetes.watched import WatchedList
from tests.kube.client import Admin
from tests.kube.store import now

Object = dict[str, Any]

IMAGE = "muster-test:1"
"""The one image that there is: this machine."""

TICK_S = 0.03
HEARTBEAT_S = 0.7
MESSAGE_BYTES = 2048
MARK = "MUSTER_TEST_POD"
"""The variable by which tests find the processes of a pod."""

NAMESPACES = (
    "setpriv",
    "--pdeathsig",
    "KILL",
    *["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
)

SETUP = """
mount -t tmpfs -o mode=755 tmpfs /run
mount --bind {hosts} /etc/hosts
{mounts}
cd /
exec {command}
"""


@dataclass(frozen=True, slots=True)
class PodBody:
    """A pod as a kubelet sees it."""

    uid: str
    version: str
    body: Mapping[str, Any]


@dataclass
class Running:
    """A pod that was started."""

    pod: PodBody
    folder: Path
    process: subprocess.Popen[bytes]
    told_s: float | None = None
    """When it was told to leave."""
    reason: str = ""
    """Why it was killed; empty when it was not."""
    is_reported: bool = False

    @property
    def first(self) -> int | None:
        """Its first process, as this machine numbers it."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return int(found.stdout.split()[0]) if found.stdout.split() else None


@dataclass
class Kubelets:
    """Those of all nodes, on one thread."""

    admin: Admin
    folder: Path
    nodes: dict[str, Object] = field(default_factory=dict)
    """By name, what each node reports."""
    silent: set[str] = field(default_factory=set)
    """Nodes that say and do nothing. What they run goes on, unless their power is off."""
    pods: dict[str, Running] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hosts = self.folder / "hosts"
        self.hosts.write_text(Path("/etc/hosts").read_text("utf-8"), "utf-8")
        self._watched = WatchedList(self.admin, "/api/v1/pods", _body)
        self._lock = threading.RLock()
        self._failed: set[str] = set()
        self._is_closed = threading.Event()
        self._heartbeat_s: dict[str, float] = {}
        self._thread = threading.Thread(target=self._run, name="kubelets", daemon=True)
        self._thread.start()

    def power_off(self, node: str) -> None:
        """A machine dies."""
        with self._lock:
            self.silent.add(node)
            for each in self._on(node):
                _signal(each.process.pid, signal.SIGKILL)
                each.process.wait()
                each.reason = "NodeLost"

    def silence(self, node: str) -> None:
        """A kubelet hangs, and what it runs goes on."""
        with self._lock:
            self.silent.add(node)

    def wake(self, node: str) -> None:
        """The machine, or its kubelet, is back."""
        with self._lock:
            self.silent.discard(node)
            self._heartbeat_s.pop(node, None)

    def kill(self, name: str, reason: str) -> None:
        """The kubelet kills a pod by itself, for a reason such as OOMKilled or Evicted."""
        with self._lock:
            for each in self.pods.values():
                if each.pod.body["metadata"]["name"] == name:
                    each.reason = reason
                    _signal(each.process.pid, signal.SIGKILL)

    def processes(self, node: str) -> list[int]:
        """Everything that a machine runs."""
        marks = [f"{MARK}={each.folder}\0".encode() for each in self._on(node)]
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                text = environ.read_bytes() + b"\0"
                if any(mark in text for mark in marks):
                    found.append(int(environ.parent.name))
        return found

    def output(self, pod: str) -> str:
        """What the first process of a pod has said."""
        return "".join(
            (each.folder / "log").read_text("utf-8", errors="replace")
            for each in self.pods.values()
            if each.pod.body["metadata"]["name"] == pod
        )

    def close(self) -> None:
        self._is_closed.set()
        self._thread.join()
        self._watched.close()
        for each in self.pods.values():
            _signal(each.process.pid, signal.SIGKILL)
            each.process.wait()

    def _on(self, node: str) -> list[Running]:
        return [each for each in self.pods.values() if each.pod.body["spec"].get("nodeName") == node]

    def _run(self) -> None:
        while not self._is_closed.wait(TICK_S):
            with suppress(EngineSilent, RequestRefused), self._lock:
                for name in tuple(self.nodes):
                    self._say(name)
                seen = {pod.uid: pod for pod in self._watched.all()}
                for pod in seen.values():
                    if self._serves(pod.body["spec"].get("nodeName", "")):
                        self._look(pod)
                for uid, each in tuple(self.pods.items()):
                    if uid not in seen and self._serves(each.pod.body["spec"]["nodeName"]):
                        self._forget(uid)  # somebody has removed it by force

    def _serves(self, node: str) -> bool:
        return node in self.nodes and node not in self.silent

    def _say(self, node: str) -> None:
        """That it is alive, and what it has."""
        if node in self.silent or time.monotonic() - self._heartbeat_s.get(node, 0.0) < HEARTBEAT_S:
            return
        self._heartbeat_s[node] = time.monotonic()
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now()}
        self.admin.status(f"/api/v1/nodes/{node}", {**self.nodes[node], "conditions": [ready]})

    def _look(self, pod: PodBody) -> None:
        about, phase = pod.body["metadata"], pod.body["status"].get("phase", "Pending")
        is_leaving = bool(about.get("deletionTimestamp"))
        running = self.pods.get(pod.uid)
        if running is None:
            if is_leaving:
                self.admin.remove(_path(pod), 0)
            elif phase == "Pending" and pod.uid not in self._failed:
                self._start(pod)
            return
        running.pod = pod
        if running.process.poll() is not None:
            self._end(running, is_leaving=is_leaving)
        elif is_leaving:
            self._leave(running)
        elif phase == "Pending":
            self._report(running, "Running", {"running": {"startedAt": now()}})

    def _start(self, pod: PodBody) -> None:
        spec = pod.body["spec"]
        container = spec["containers"][0]
        if container["image"] != IMAGE:
            self._failed.add(pod.uid)
            said = f'failed to pull and unpack image "{container["image"]}": not found'
            self._tell(pod, "Pending", {"waiting": {"reason": "ErrImagePull", "message": said}})
            return
        folder = self.folder / pod.uid
        folder.mkdir()
        name = f"{spec.get('hostname')}.{spec.get('subdomain')}.{pod.body['metadata']['namespace']}.svc"
        with self.hosts.open("a", encoding="utf-8") as file:
            file.write(f"127.0.0.1 {name}\n")
        mounts = "\n".join(self._mounts(pod, folder, container))
        setup = SETUP.format(hosts=self.hosts, mounts=mounts, command=shlex.join(container["command"]))
        (folder / "setup").write_text(setup, "utf-8")
        variables = {each["name"]: each["value"] for each in container.get("env", ())}
        with (folder / "log").open("ab") as log:
            # Told when this process dies, however that happens.
            process = subprocess.Popen(
                [*NAMESPACES, "sh", "-e", str(folder / "setup")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], "HOME": "/root", MARK: str(folder), **variables},
            )
        self.pods[pod.uid] = Running(pod, folder, process)

    def _mounts(self, pod: PodBody, folder: Path, container: Object) -> list[str]:
        """The commands that put volumes where the container has them."""
        sources = {each["name"]: self._volume(pod, folder, each) for each in pod.body["spec"]["volumes"]}
        found = []
        for each in container["volumeMounts"]:
            target = shlex.quote(each["mountPath"])
            found += [f"mkdir -p {target}", f"{sources[each['name']]} {target}"]
            if each.get("readOnly"):
                found.append(f"mount -o remount,bind,ro {target}")
        return found

    def _volume(self, pod: PodBody, folder: Path, volume: Object) -> str:
        place = folder / volume["name"]
        match volume:
            case {"emptyDir": {"medium": "Memory", "sizeLimit": size}}:
                return f"mount -t tmpfs -o size={size} tmpfs"
            case {"hostPath": {"path": path}}:
                return f"mount --bind {shlex.quote(path)}"
            case {"secret": {"secretName": name, "defaultMode": mode}}:
                place.mkdir()
                namespace = pod.body["metadata"]["namespace"]
                secret = self.admin.read(f"/api/v1/namespaces/{namespace}/secrets/{name}")
                for file, content in secret["data"].items():
                    (place / file).write_bytes(base64.b64decode(content))
                    (place / file).chmod(mode)
            case _:
                place.mkdir(mode=0o777)
        return f"mount --bind {shlex.quote(str(place))}"

    def _leave(self, running: Running) -> None:
        now_s = time.monotonic()
        if running.told_s is None:
            running.told_s = now_s
            if (first := running.first) is not None:
                _signal(first, signal.SIGTERM)
        elif now_s - running.told_s > running.pod.body["metadata"].get("deletionGracePeriodSeconds", 0):
            _signal(running.process.pid, signal.SIGKILL)

    def _end(self, running: Running, *, is_leaving: bool) -> None:
        code = running.process.returncode
        if not running.is_reported:
            running.is_reported = True
            said = (running.folder / "log").read_bytes()[-MESSAGE_BYTES:].decode(errors="replace")
            code = 137 if code < 0 else code
            ended = {"exitCode": code, "reason": running.reason or ("Completed" if code == 0 else "Error")}
            ended |= {"message": said} if code else {}
            self._report(running, "Succeeded" if code == 0 else "Failed", {"terminated": ended})
        if is_leaving:
            self.admin.remove(_path(running.pod), 0)
            self._forget(running.pod.uid)

    def _forget(self, uid: str) -> None:
        running = self.pods.pop(uid)
        if running.process.poll() is None:
            _signal(running.process.pid, signal.SIGKILL)
            running.process.wait()

    def _report(self, running: Running, phase: str, state: Object) -> None:
        reason = running.reason if running.reason in ("Evicted", "NodeLost") else ""
        self._tell(running.pod, phase, state, reason)

    def _tell(self, pod: PodBody, phase: str, state: Object, reason: str = "") -> None:
        container = pod.body["spec"]["containers"][0]
        told = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0}
        ready = phase == "Running"
        status: Object = {
            "phase": phase,
            "podIP": "127.0.0.1",
            "containerStatuses": [{**told, "ready": ready, "state": state}],
        }
        if reason:
            status |= {"reason": reason, "message": "the node was low on resource: memory"}
        self.admin.status(_path(pod), status)


def _body(body: Mapping[str, Any]) -> PodBody:
    return PodBody(uid=body["metadata"]["uid"], version=body["metadata"]["resourceVersion"], body=body)


def _path(pod: PodBody) -> str:
    about = pod.body["metadata"]
    return f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}"


def _signal(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)
