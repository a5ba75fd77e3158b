"""Folders of files, in git and elsewhere."""

import subprocess
from pathlib import Path


def write(folder: Path, **files: str) -> None:
    """Write files; `__` in a name is a slash, and a name that begins with `dot_` begins with a dot."""
    for name, text in files.items():
        path = folder / "/".join(part.replace("dot_", ".") for part in name.split("__"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def checkout(folder: Path, **files: str) -> str:
    """A git repository with these files in its only commit, whose name is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, **files)
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "one", "--allow-empty")
    return git(folder, "rev-parse", "HEAD")
