"""What runs before a commit is what `make lint` runs, from the same environment and from nowhere else."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def hooks() -> list[dict[str, Any]]:
    configured = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert [repository["repo"] for repository in configured["repos"]] == ["local"]
    return [hook for repository in configured["repos"] for hook in repository["hooks"]]


def test_every_hook_is_a_tool_of_the_environment() -> None:
    for hook in hooks():
        assert hook["language"] == "system"
        assert re.fullmatch(r"\.venv/bin/(ruff|mypy|lint-imports|pytest)( .*)?", hook["entry"])


def test_the_hooks_do_what_the_linting_target_does() -> None:
    target = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert target is not None
    linting = [line.strip().replace("$(BIN)", ".venv/bin").removesuffix(" .") for line in target[1].splitlines()]
    assert len(linting) >= 4
    assert [command for command in linting if command not in [hook["entry"] for hook in hooks()]] == []
