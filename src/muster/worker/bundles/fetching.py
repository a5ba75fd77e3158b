"""The working copy of a bundle that is stored elsewhere: on a machine where no control plane is.

`python -m muster.worker.bundles.fetching JOB BUNDLE FOLDER STAMP` is what the first process of a worker runs there. It
asks the control plane, whose addresses are in `MUSTER_URL`, with the token of the attempt. Nothing is stored but the
copy.
"""

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from muster.attempt_token import AUTHORITIES
from muster.worker.bundles.manifest import MANIFEST_BYTES, BadManifest, BundleManifest, digest, parse_manifest
from muster.worker.bundles.store import ANSWER_BYTES, ASKED_MOST, split_blocks
from muster.worker.bundles.unpacking import FAILED, isolated, stamped, unpack

ASK_S = 60.0
"""How long an answer may take to come. It has at most `ANSWER_BYTES` and a block."""

PATIENCE_S = 300.0
"""How long a control plane may be away: longer than another needs to take over, and than a restart takes."""

PAUSE_S = 2.0

T = TypeVar("T")


def fetch_command(job: str, bundle: str, folder: Path, stamp: Path) -> tuple[str, ...]:
    """The command that makes a working copy. It finds its token and where to ask in the environment."""
    return isolated("muster.worker.bundles.fetching", job, bundle, str(folder), str(stamp))


class BundleSource:
    """What is asked for the bundle of one job."""

    def __init__(self, urls: Sequence[str], token: str, job: str, authorities: str = "") -> None:
        self._urls = deque(urls)
        self._token = token
        self._path = f"/v1/jobs/{job}/bundle"
        trusted = ssl.create_default_context(cafile=authorities or None)
        # Proxies are for the world outside; this is the way that the agent takes as well.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted)
        )

    def manifest(self, bundle: str) -> BundleManifest:
        """The manifest of the bundle. Raises `OSError`, or `BadManifest` for another."""
        text = self._asked("manifest", MANIFEST_BYTES)
        if digest(text) != bundle:
            raise BadManifest("the server has sent another bundle")
        return parse_manifest(text)

    def blocks(self, names: Sequence[str]) -> list[bytes]:
        """The first of these blocks: at least one, and as many as fit into an answer."""
        body = json.dumps({"names": names}).encode()
        return split_blocks(self._asked("blocks", 2 * ANSWER_BYTES, body))

    def _asked(self, what: str, bytes_most: int, body: bytes | None = None) -> bytes:
        def ask() -> bytes:
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            request = urllib.request.Request(f"{self._urls[0]}{self._path}/{what}", data=body, headers=headers)
            with self._opener.open(request, timeout=ASK_S) as answer:
                found: bytes = answer.read(bytes_most + 1)
            return found

        return self._patiently(ask)

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask again, each time the next server, while none can answer. A refusal is final."""
        until_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return ask()
            except urllib.error.HTTPError as error:
                with error:
                    problem = OSError(f"the server refuses it ({error.code}): {_said(error)}")
                if error.code < 500 and error.code != 429:
                    raise problem from None
            except OSError as error:
                problem = error
            if time.monotonic() > until_s:
                raise problem
            self._urls.rotate(-1)
            time.sleep(PAUSE_S)


class FetchedBlocks:
    """Blocks that are read in their order, some of them ahead."""

    def __init__(self, source: BundleSource, names: Iterable[str]) -> None:
        self._source = source
        self._ahead = deque(names)
        """Those that were not asked for."""
        self._here: deque[bytes] = deque()

    def read(self, blocks: Iterable[str]) -> Iterator[bytes]:
        """The contents of these blocks, which are the next ones. Raises `OSError`."""
        for name in blocks:
            if not self._here:
                self._fetch()
            data = self._here.popleft()
            if digest(data) != name:
                raise OSError(f"block {name[:12]} is damaged")
            yield data

    def _fetch(self) -> None:
        wanted = [self._ahead[place] for place in range(min(ASKED_MOST, len(self._ahead)))]
        self._here.extend(self._source.blocks(wanted))
        for _ in self._here:
            self._ahead.popleft()


def _said(error: urllib.error.HTTPError) -> str:
    """What the server says about it, for people."""
    try:
        return str(json.loads(error.read(ANSWER_BYTES))["detail"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(error.reason)


def main(arguments: Sequence[str]) -> int:
    """Make the copy, or say why that is not possible."""
    job, bundle, folder, stamp = arguments
    urls = [url.strip().rstrip("/") for url in os.environ.get("MUSTER_URL", "").split(",") if url.strip()]
    try:
        if not urls:
            raise OSError("this node does not know where Muster is")
        source = BundleSource(urls, os.environ.get("MUSTER_TOKEN", ""), job, os.environ.get(AUTHORITIES, ""))
        manifest = source.manifest(bundle)
        room = os.statvfs(Path(folder).parent)
        if room.f_bavail * room.f_frsize < manifest.bytes:
            raise OSError(f"there is no room for its {manifest.bytes} bytes")
        blocks = FetchedBlocks(source, (name for each in manifest.entries for name in each.blocks))
        unpack(blocks, manifest, Path(folder))
        stamped(Path(stamp))
    except (OSError, BadManifest) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else error
        sys.stderr.write(f"muster: the bundle {bundle[:12]} cannot be fetched to this node: {problem}\n")
        return FAILED
    return 0
