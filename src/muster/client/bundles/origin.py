"""The commit that a folder was taken from, and the difference to it."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from muster.client.bundles.listing import GIT_S, git_output
from muster.worker.bundles.manifest import BRANCH_CHARS, DIFF_BYTES, Origin, digest

LEFT_OUT_MOST = 1000
"""Files of a commit that are left out of a bundle and of the difference. With more there is no difference."""


def find_origin(folder: Path, left_out: Sequence[str]) -> tuple[Origin, bytes]:
    """Where the files of a folder come from, and the difference. Files that are left out are not part of it."""
    commit = (git_output(folder, "rev-parse", "--verify", "HEAD") or b"").decode("ascii", "replace").strip()
    if not commit:
        return Origin(), b""
    branch = os.fsdecode(git_output(folder, "symbolic-ref", "--short", "-q", "HEAD") or b"").strip()
    others = git_output(folder, "ls-files", "-z", "--others", "--exclude-standard") or b""
    untracked = {os.fsdecode(each) for each in others.split(b"\0") if each} - set(left_out)
    text = _difference(folder, left_out)
    kept = text[:DIFF_BYTES]
    origin = Origin(
        commit=commit,
        branch=branch.encode(errors="replace").decode()[:BRANCH_CHARS],
        dirty=bool(text or untracked),
        diff=(digest(kept),) if kept else (),
        diff_bytes=len(kept),
        diff_cut=len(text) > DIFF_BYTES,
    )
    return origin, kept


def _difference(folder: Path, left_out: Sequence[str]) -> bytes:
    """The difference to the last commit, and no more of it than is kept and one byte."""
    if len(left_out) > LEFT_OUT_MOST:
        return b""
    words = ["git", "-C", str(folder), "diff", "HEAD", "--no-color", "--no-ext-diff", "--no-textconv", "--relative"]
    words += ["--", ".", *(f":(exclude,literal){path}" for path in left_out)]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        with subprocess.Popen(
            words, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as git:
            assert git.stdout is not None  # asked for
            text = git.stdout.read(DIFF_BYTES + 1)
            git.stdout.close()
            git.wait(GIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return text
