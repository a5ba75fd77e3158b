"""Every suite runs on compiled code too, or there is a reason why not."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

PLAIN_ONLY = {
    "integrations": "what it tests is other people's libraries with the user library",
    "train": "what it tests runs in training images and is not compiled",
    "browser": "what it looks at is a page, and what writes that is not compiled",
    "survival": "it takes minutes, and what it kills is not what is compiled",
    "engines": "it takes minutes, and the contract suite runs on each engine too",
    "style": "what it reads is the sources",
}


def test_every_suite_runs_on_the_wheel_or_says_why_not() -> None:
    suites = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("*/**/test_*.py")}
    listed = re.search(r"^ON_COMPILED := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert listed is not None
    compiled = {Path(word).name for word in listed.group(1).split()}
    assert compiled | set(PLAIN_ONLY) == suites
    assert not compiled & set(PLAIN_ONLY)
