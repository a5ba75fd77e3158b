"""From a bundle to a working copy: a folder that the job may change. What is stored does not change with it.

`python -m muster.worker.bundles.unpacking STORE BUNDLE FOLDER STAMP` is what the first process of a worker runs.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from muster.worker.bundles.manifest import BadManifest, BundleEntry, BundleManifest
from muster.worker.bundles.store import BundleStore
from muster.worker.launch.runtime_folder import DRAFT

UNPACKED_S = 946_684_800
"""When everything in a new working copy was last changed: the year 2000. So what was changed later is easy to find."""

FAILED = 125
"""The exit code for a bundle that cannot be unpacked, like that of a working directory that cannot be entered."""

SOURCE = Path(__file__).parents[3]
"""The folder that has this package in it."""


def unpack_command(store: Path, bundle: str, folder: Path, stamp: Path) -> tuple[str, ...]:
    """The command that unpacks a bundle, isolated from what the job has on Python's path.

    It makes the file `stamp`, which is older than all that is changed in the copy from then on.
    """
    return isolated("muster.worker.bundles.unpacking", str(store), bundle, str(folder), str(stamp))


def isolated(module: str, *words: str) -> tuple[str, ...]:
    """The command that calls `main` of a module of Muster, and of nothing that the job has on Python's path."""
    begin = f"import sys; sys.path.append({str(SOURCE)!r}); from {module} import main"
    return (sys.executable, "-I", "-S", "-c", f"{begin}; sys.exit(main(sys.argv[1:]))", *words)


class Blocks(Protocol):
    """Where the contents of files come from."""

    def read(self, blocks: Iterable[str]) -> Iterator[bytes]:
        """The contents of these blocks. Raises `OSError` for one that is not there, or is not what it should be."""
        ...


def stamped(stamp: Path) -> None:
    """Make the file that is older than all that is changed in a new copy."""
    stamp.touch(mode=0o600)
    os.utime(stamp, (UNPACKED_S + 1, UNPACKED_S + 1))


def unpack(store: Blocks, manifest: BundleManifest, folder: Path) -> None:
    """Make the folder with everything of the bundle in it. Whoever finds the folder finds all of it."""
    draft = folder.with_name(f"{folder.name}{DRAFT}{os.urandom(8).hex()}")
    draft.mkdir(mode=0o700)
    try:
        folders: dict[Path, None] = {draft: None}
        for entry in manifest.entries:
            path = draft / entry.path
            _make_parents(path.parent, folders)
            if entry.link is None:
                _write_file(store, entry, path)
            else:
                path.symlink_to(entry.link)
            os.utime(path, (UNPACKED_S, UNPACKED_S), follow_symlinks=False)
        for made in reversed(folders):
            os.utime(made, (UNPACKED_S, UNPACKED_S))
        _put_in_place(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, folder: Path) -> None:
    """Rename the copy, unless another worker was faster: its copy is as good."""
    try:
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _make_parents(folder: Path, made: dict[Path, None]) -> None:
    """Make the folders between, one by one. Manifests have nothing below a link, so none is followed."""
    if folder in made:
        return
    _make_parents(folder.parent, made)
    folder.mkdir(mode=0o755)
    made[folder] = None


def _write_file(store: Blocks, entry: BundleEntry, path: Path) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as stream:
        for data in store.read(entry.blocks):
            stream.write(data)
        if stream.tell() != entry.size:
            raise OSError(f"{entry.path} has {stream.tell()} bytes instead of {entry.size}")
        os.fchmod(stream.fileno(), entry.mode)


def main(arguments: Sequence[str]) -> int:
    """Unpack a bundle, or say why that is not possible."""
    place, bundle, folder, stamp = arguments
    store = BundleStore(Path(place))
    try:
        manifest = store.manifest(bundle)
        if manifest is None:
            raise OSError("it is not stored any more")
        unpack(store, manifest, Path(folder))
        stamped(Path(stamp))
    except (OSError, BadManifest) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else error
        sys.stderr.write(f"muster: the bundle {bundle[:12]} cannot be unpacked on this node: {problem}\n")
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
