"""Which files of a folder belong to its bundle.

In a git checkout these are the files that git knows, and those that it would take. Elsewhere, and in a folder that its
checkout ignores as a whole, all files are looked at, and `.gitignore` files are respected. `.musterignore` in the
folder itself is written like `.gitignore`, and leaves out files that are in git too. Files that usually hold secrets
are left out, unless `.musterignore` has them with a `!`.
"""

import os
import stat
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from muster.model.client_limits import BUNDLE_FILES
from muster.model.errors import InvalidInput

OWN_IGNORE = ".musterignore"

SECRET_FILES = (
    ".env",
    ".env.*",
    "!.env.example",
    "!.env.sample",
    "!.env.template",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
)
"""Patterns of files that usually hold secrets. A job gets its secrets by name, from `secrets`."""

NEVER = (".git", "__pycache__/")

LOOKED_AT_MOST = 10 * BUNDLE_FILES
"""After so many files it is clear that the folder is not code: perhaps it is a home directory."""

GIT_S = 60

Specs = tuple[tuple[str, GitIgnoreSpec], ...]
"""The folders above a file that say what is ignored, the outermost first, with a slash behind each but the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFiles:
    """The files of a bundle, as paths relative to its folder, in order."""

    paths: tuple[str, ...]
    secrets: tuple[str, ...]
    """What was left out because it may hold secrets."""
    left_out: tuple[str, ...]
    """What was left out because `.musterignore` says so."""
    is_in_git: bool
    """True when git knows these files, or would take them."""


def list_files(folder: Path) -> FolderFiles:
    """The files and links of a folder that belong to its bundle."""
    found = listed_by_git(folder)
    candidates = _with_nested(folder, found) if found else _walked(folder)
    own = _lines(folder / OWN_IGNORE)
    spec = GitIgnoreSpec.from_lines((*NEVER, *SECRET_FILES, *own))
    kept, secrets, left_out = [], [], []
    for number, path in enumerate(candidates):
        if number >= LOOKED_AT_MOST:
            raise InvalidInput(
                f"{folder} has more than {LOOKED_AT_MOST} files, which is no code: name the folder with the code as "
                f"`workdir`, or what the job does not need in {OWN_IGNORE}"
            )
        verdict = spec.check_file(path)
        if not verdict.include:
            kept.append(path)
        elif verdict.index is not None and len(NEVER) <= verdict.index < len(NEVER) + len(SECRET_FILES):
            secrets.append(path)
        elif verdict.index is not None and verdict.index >= len(NEVER):
            left_out.append(path)
    return FolderFiles(
        paths=tuple(sorted(set(kept))),
        secrets=tuple(sorted(secrets)),
        left_out=tuple(sorted(left_out)),
        is_in_git=bool(found),
    )


def listed_by_git(folder: Path) -> list[str] | None:
    """What git knows and would take; None where the folder is not in a checkout, or there is no git."""
    text = git_output(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    return None if text is None else [os.fsdecode(each) for each in text.split(b"\0") if each]


def git_output(folder: Path, *words: str) -> bytes | None:
    """What git prints; None when it fails."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], env=variables, capture_output=True, check=False, timeout=GIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _with_nested(folder: Path, paths: Sequence[str]) -> Iterator[str]:
    """The paths that are there, with the files of checkouts inside of the checkout, which git names as folders."""
    for path in paths:
        place = folder / path
        if place.is_dir() and not place.is_symlink():
            inside = listed_by_git(place) if (place / ".git").exists() else None
            below = _walked(place) if inside is None else _with_nested(place, inside)
            yield from (f"{path.rstrip('/')}/{each}" for each in below)
        elif _is_packed(place):
            yield path


def _walked(folder: Path) -> Iterator[str]:
    """All files and links below a folder but those that a `.gitignore` leaves out."""
    yield from _below(folder, "", ())


def _below(root: Path, prefix: str, above: Specs) -> Iterator[str]:
    lines = _lines(root / prefix / ".gitignore")
    specs = (*above, (prefix, GitIgnoreSpec.from_lines(lines))) if lines else above
    try:
        with os.scandir(root / prefix) as found:
            entries = sorted(found, key=lambda each: each.name)
    except OSError as error:
        raise InvalidInput(f"{error.filename} cannot be read: {error.strerror}") from None
    for entry in entries:
        path = f"{prefix}{entry.name}"
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or _is_ignored(f"{path}/" if is_folder else path, specs):
            continue
        if is_folder:
            yield from _below(root, f"{path}/", specs)
        elif _is_packed(root / path):
            yield path


def _is_ignored(path: str, specs: Specs) -> bool:
    """Whether a path is ignored: the innermost folder that says anything about it decides."""
    for prefix, spec in reversed(specs):
        verdict = spec.check_file(path.removeprefix(prefix)).include
        if verdict is not None:
            return verdict
    return False


def _is_packed(path: Path) -> bool:
    """True for files and links, and not for sockets, pipes and what is not there any more."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
