"""The working copy of a bundle that is stored elsewhere."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from muster.worker.bundles import fetching
from muster.worker.bundles.fetching import main
from muster.worker.bundles.manifest import BundleEntry, BundleManifest, digest
from muster.worker.bundles.store import BundleStore, joined_blocks
from muster.worker.bundles.unpacking import FAILED

CODE, MORE = b"print()", b"more"
MANIFEST = BundleManifest(
    entries=(
        BundleEntry(path="a.py", size=7, blocks=(digest(CODE),)),
        BundleEntry(path="b.py", size=4, blocks=(digest(MORE),)),
        BundleEntry(path="c.py", size=7, blocks=(digest(CODE),)),
        BundleEntry(path="data", link="/data"),
    )
)


class Server(HTTPServer):
    """Has one bundle. `answers` are codes that it says first."""

    def __init__(self, store: BundleStore) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.store = store
        self.answers: list[int] = []
        self.tokens: set[str] = set()


class Asked(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._say(MANIFEST.text)

    def do_POST(self) -> None:
        names = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["names"]
        self._say(joined_blocks(self.server.store.first(names)[:1]))

    def _say(self, body: bytes) -> None:
        self.server.tokens.add(self.headers["Authorization"])
        code = self.server.answers.pop(0) if self.server.answers else 200
        self.send_response(code)
        self.end_headers()
        self.wfile.write(body if code == 200 else b'{"detail": "not now"}')

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def a_server(folder: Path) -> Iterator[Server]:
    store = BundleStore(folder / "store")
    for each in (CODE, MORE):
        store.put_block(each)
    with Server(store) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield server
        server.shutdown()
        serving.join()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(fetching, "PAUSE_S", 0.0)
    with a_server(tmp_path) as found:
        # The first address is nobody's.
        monkeypatch.setenv("MUSTER_URL", f"http://127.0.0.1:1, http://127.0.0.1:{found.server_port}/")
        monkeypatch.setenv("MUSTER_TOKEN", "secret")
        yield found


def fetched(folder: Path, bundle: str = MANIFEST.id) -> int:
    return main(("job-1", bundle, str(folder / "copy"), str(folder / "stamp")))


def test_a_copy_is_made_of_what_a_server_has_whichever_answers(server: Server, tmp_path: Path) -> None:
    server.answers = [503, 429]
    assert fetched(tmp_path) == 0
    copy = tmp_path / "copy"
    assert [(copy / f"{name}.py").read_bytes() for name in "abc"] == [CODE, MORE, CODE]
    assert (copy / "data").readlink() == Path("/data")
    assert (copy / "a.py").stat().st_mtime < (tmp_path / "stamp").stat().st_mtime
    assert server.tokens == {"Bearer secret"}


def test_what_is_refused_or_is_another_bundle_is_said_and_leaves_nothing(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers = [403]
    assert fetched(tmp_path) == FAILED
    assert "cannot be fetched to this node: the server refuses it (403): not now" in capsys.readouterr().err
    assert fetched(tmp_path, "0" * 64) == FAILED
    assert "the server has sent another bundle" in capsys.readouterr().err
    server.answers = [200, 200, 404]
    assert fetched(tmp_path) == FAILED
    assert not (tmp_path / "copy").exists()
    assert not list(tmp_path.glob("copy.*"))


def test_a_server_that_stays_away_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fetching, "PATIENCE_S", 0.0)
    monkeypatch.setattr(fetching, "PAUSE_S", 0.0)
    monkeypatch.setenv("MUSTER_URL", "http://127.0.0.1:1")
    assert fetched(tmp_path) == FAILED
    assert "refused" in capsys.readouterr().err
