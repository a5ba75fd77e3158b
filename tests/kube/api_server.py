"""An API server that is pretended, over real HTTP. It keeps to what a real one was seen to do.

It notes what each client asks, lets a client do only what its rules say, and can be told to be slow, to refuse, and to
lose its answers.
"""

import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

from tests.kube.controllers import Controllers
from tests.kube.store import KINDS, Answer, Key, Object, Store, lines, matches

BOOKMARK_S = 0.5
"""How often a watch that wants it is told how far it is. Real ones do so about every minute."""

MUSTER, ADMIN = "muster-token", "admin-token"
"""By which tokens clients are known."""


@dataclass(frozen=True, order=True)
class Asked:
    """What a client has asked for, as rules name it."""

    verb: str
    resource: str
    namespace: str = ""


@dataclass
class Trouble:
    """What goes wrong with requests of Muster."""

    status: int = 0
    """All are answered with this; 0 for none."""
    unable: str = ""
    """The resource of which nothing is made, and everything answered with 503."""
    slow_s: float = 0.0
    lost_answers: dict[str, int] = field(default_factory=dict)
    """By resource, how many requests that make something are done, and their answers lost."""


class PretendedServer:
    """One server with one cluster."""

    def __init__(self, port: int = 0) -> None:
        self.store = Store()
        self.controllers = Controllers(self.store)
        self.trouble = Trouble()
        self.asked: set[Asked] = set()
        """What Muster has asked for."""
        self.requests: list[Asked] = []
        """The same, each as often as it was asked."""
        self.allowed: set[Asked] | None = None
        """What it may ask for, with its own namespace; None for everything."""
        self.watches = 0
        """How many have begun."""
        self.epoch = 0
        """Watches that began in an older one end."""
        self.store.add("namespaces", "", {"metadata": {"name": "default"}})
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.api = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def end_watches(self) -> None:
        """The server ends all watches, as it does now and then."""
        with self.store.changed:
            self.epoch += 1
            self.store.changed.notify_all()

    def close(self) -> None:
        self.end_watches()
        self._server.shutdown()
        self._server.server_close()
        self.controllers.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    api: PretendedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in its base
        pass

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PATCH = do_DELETE = do_PUT = do_GET  # noqa: N815

    def _serve(self) -> None:
        api, url = self.server.api, urlparse(self.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        try:
            kind, namespace, name, part = _place(url.path)
            is_muster = self.headers.get("Authorization", "").endswith(MUSTER)
            if is_muster:
                self._meet_trouble(kind, namespace, name, query)
            if self.command == "GET" and query.get("watch"):
                self._watch(kind, namespace, query)
                return
            answer = self._done((kind, namespace, name), part, query, body)
            if is_muster and self.command == "POST" and api.trouble.lost_answers.get(kind, 0):
                api.trouble.lost_answers[kind] -= 1
                self.close_connection = True
                return
        except Answer as problem:
            self._answer(
                problem.status,
                {"kind": "Status", "code": problem.status, "reason": problem.reason, "message": problem.message},
            )
        else:
            self._answer(201 if self.command == "POST" else 200, answer)

    def _meet_trouble(self, kind: str, namespace: str, name: str, query: dict[str, str]) -> None:
        api = self.server.api
        verbs = {"GET": "get" if name else "list", "POST": "create", "PATCH": "patch", "PUT": "update"}
        verb = "watch" if query.get("watch") else verbs.get(self.command, "delete" if name else "deletecollection")
        wanted = Asked(verb, kind, namespace)
        api.asked.add(wanted)
        api.requests.append(wanted)
        if api.trouble.slow_s:
            time.sleep(api.trouble.slow_s)
        if verb == "create" and kind == api.trouble.unable:
            raise Answer(503, "ServiceUnavailable", "etcd has no leader")
        if api.trouble.status:
            raise Answer(api.trouble.status, "InternalError", "the server has trouble")
        if api.allowed is not None and wanted not in api.allowed:
            where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
            message = f'{kind} is forbidden: User "muster" cannot {verb} resource "{kind}" in API group "" {where}'
            raise Answer(403, "Forbidden", message)

    def _done(self, key: Key, part: str, query: dict[str, str], body: Object) -> Object:
        store, (kind, namespace, name) = self.server.api.store, key
        selector, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        match self.command:
            case "GET" if name:
                return store.get(key)
            case "GET":
                return self._list(kind, namespace, query, selector, fields)
            case "POST":
                return store.add(kind, namespace, body)
            case "PATCH":
                return self._patched(key, part, body)
            case "DELETE" if name:
                return store.delete(key, body)
            case _:
                with store.changed:
                    gone = [each for each in store.all(kind, namespace) if matches(each, selector, fields)]
                    for each in gone:
                        store.delete((kind, each["metadata"].get("namespace", ""), each["metadata"]["name"]), body)
                return {"kind": f"{KINDS[kind]}List", "items": []}

    def _patched(self, key: Key, part: str, body: Object) -> Object:
        if key[0] == "nodes" and part == "status":
            self.server.api.controllers.heard_s[key[2]] = time.monotonic()
        return self.server.api.store.patch(key, body)

    def _list(self, kind: str, namespace: str, query: dict[str, str], selector: str, fields: str) -> Object:
        store = self.server.api.store
        with store.changed:
            found = [each for each in store.all(kind, namespace) if matches(each, selector, fields)]
            begin, limit = int(query.get("continue", "0")), int(query.get("limit", "0")) or len(found)
            about = {"resourceVersion": str(store.version)}
            if begin + limit < len(found):
                about["continue"] = str(begin + limit)
            return {"kind": f"{KINDS[kind]}List", "metadata": about, "items": found[begin : begin + limit]}

    def _watch(self, kind: str, namespace: str, query: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with suppress(OSError):
            for line in self._changes(kind, namespace, query):
                self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

    def _changes(self, kind: str, namespace: str, query: dict[str, str]) -> Iterator[bytes]:
        """Whatever changes, until the time is over or the server wants it."""
        api, version = self.server.api, int(query.get("resourceVersion") or 0)
        epoch, until_s = api.epoch, time.monotonic() + float(query.get("timeoutSeconds", "60"))
        api.watches += 1

        def passes(body: Object) -> bool:
            is_here = namespace in ("", body["metadata"].get("namespace", ""))
            return is_here and matches(body, query.get("labelSelector", ""), query.get("fieldSelector", ""))

        while api.epoch == epoch and time.monotonic() < until_s:
            with api.store.changed:
                try:
                    found = api.store.since(version, kind)
                except Answer as gone:
                    status = {"kind": "Status", "code": gone.status, "reason": gone.reason, "message": gone.message}
                    yield json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
                    return
                newest = api.store.version
                if not found and not api.store.changed.wait(BOOKMARK_S):
                    about = {"resourceVersion": str(newest), "creationTimestamp": None}
                    mark = {"type": "BOOKMARK", "object": {"kind": KINDS[kind], "metadata": about}}
                    found_lines: Iterable[bytes] = [json.dumps(mark).encode() + b"\n"]
                else:
                    found_lines = list(lines(found, passes))
                version = newest
            yield from found_lines

    def _answer(self, status: int, body: Object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(data)


def _place(path: str) -> tuple[str, str, str, str]:
    """Kind, namespace, name and part of `/api/v1/namespaces/NAMESPACE/pods/NAME/status`."""
    words = path.removeprefix("/api/v1/").strip("/").split("/")
    namespace = ""
    if words[0] == "namespaces" and len(words) > 2:
        namespace, words = words[1], words[2:]
    kind, name, part = (*words, "", "")[:3]
    if kind not in KINDS:
        raise Answer(404, "NotFound", "the server could not find the requested resource")
    return kind, namespace, name, part
