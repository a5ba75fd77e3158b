"""The whole repository obeys the house rules, and every rule can fail."""

import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.style import tidy
from tests.style.tidy import Rule, Source, violations

ROOT = Path(__file__).parents[2]

INEXACT_ALLOWED: dict[str, str] = {}
"""Files of the core that may use floats, each with its reason."""

LONG_ALLOWED: dict[str, str] = {}
"""Files that may have a function above the soft limit, each with its reason."""

PURE_RULES = (tidy.no_impure_imports, tidy.no_impure_calls, tidy.no_set_iteration)
SOURCE_RULES = (
    tidy.no_code_in_data,
    tidy.no_giant_functions,
    tidy.no_long_files,
    tidy.no_vague_modules,
    tidy.no_vague_functions,
    tidy.docstrings_everywhere,
)


@cache
def sources(pattern: str) -> tuple[Source, ...]:
    paths = sorted(path for path in ROOT.glob(pattern) if path.suffix == ".py")
    return tuple(Source(path=path.relative_to(ROOT).as_posix(), text=path.read_text("utf-8")) for path in paths)


@cache
def texts() -> tuple[Source, ...]:
    """Every text file that is tracked or could be: what a clone would contain."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = (ROOT / name for name in listing.split("\0") if name)
    contents = ((path, path.read_bytes()) for path in files if path.is_file())
    return tuple(
        Source(path=path.relative_to(ROOT).as_posix(), text=content.decode("utf-8", errors="replace"))
        for path, content in contents
        if b"\0" not in content
    )


def broken(rule: Rule, files: Iterable[Source], *, except_in: Iterable[str] = ()) -> str:
    """One line per violation; empty when the rule holds."""
    return "\n".join(each for file in files if file.path not in except_in for each in violations(rule, file))


def planted(rule: Rule, text: str, *, path: str = "src/muster/core/planted.py") -> list[str]:
    return violations(rule, Source(path=path, text=text))


def short_percent(lengths: Sequence[int]) -> int:
    return 100 * sum(length < tidy.SHORT_FUNCTION_LINES for length in lengths) // max(1, len(lengths))


@pytest.mark.parametrize("rule", PURE_RULES)
@pytest.mark.parametrize("package", ["model", "core"])
def test_model_and_core_are_pure_and_deterministic(rule: Rule, package: str) -> None:
    assert not broken(rule, sources(f"src/muster/{package}/**/*"))


def test_core_counts_in_integers() -> None:
    assert not broken(tidy.no_inexact_numbers, sources("src/muster/core/**/*"), except_in=INEXACT_ALLOWED)


@pytest.mark.parametrize("rule", SOURCE_RULES)
def test_source_is_small_named_and_documented(rule: Rule) -> None:
    assert not broken(rule, sources("src/**/*"))


def test_tests_are_split_by_noun_as_well() -> None:
    assert not broken(tidy.no_long_files, sources("tests/**/*"))


def test_functions_stay_below_the_soft_limit() -> None:
    assert not broken(tidy.no_long_functions, sources("src/**/*"), except_in=LONG_ALLOWED)


def test_nine_functions_in_ten_are_short() -> None:
    lengths = [tidy.function_lines(function) for file in sources("src/**/*") for function in file.functions]
    assert short_percent(lengths) >= tidy.SHORT_FUNCTIONS_PERCENT


def test_no_file_names_a_machine_or_a_registry() -> None:
    assert not broken(tidy.no_machine_traces, texts())


def test_every_test_runs() -> None:
    assert not broken(tidy.no_lost_tests, sources("tests/**/test_*"))


@pytest.mark.parametrize("suite", ["unit", "property"])
def test_fast_tests_neither_skip_nor_wait(suite: str) -> None:
    assert not broken(tidy.no_ways_around, sources(f"tests/{suite}/**/*"))


def test_exceptions_are_for_files_that_exist_and_give_a_reason() -> None:
    for path, reason in {**INEXACT_ALLOWED, **LONG_ALLOWED}.items():
        assert (ROOT / path).is_file()
        assert reason


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (tidy.no_impure_imports, "import time"),
        (tidy.no_impure_imports, "import os.path as p"),
        (tidy.no_impure_imports, "def f():\n    from datetime import datetime"),
        (tidy.no_impure_calls, "open('x')"),
        (tidy.no_code_in_data, "import pickle"),
        (tidy.no_code_in_data, "def f():\n    from pickle import loads"),
        (tidy.no_impure_calls, "print(1)"),
        (tidy.no_impure_calls, "input()"),
        (tidy.no_impure_calls, "hash('a')"),
        (tidy.no_impure_calls, "sorted(xs, key=lambda x: id(x))"),
        (tidy.no_impure_calls, "d.popitem()"),
        (tidy.no_inexact_numbers, "x = 0.5"),
        (tidy.no_inexact_numbers, "x = a / b"),
        (tidy.no_inexact_numbers, "x /= 2"),
        (tidy.no_inexact_numbers, "x = float('inf')"),
        (tidy.no_vague_modules, ""),
        (tidy.no_vague_functions, "def get_job(): ..."),
        (tidy.no_vague_functions, "class A:\n    async def _handle_exit(self): ..."),
        (tidy.no_vague_functions, "def do_it(): ..."),
        (tidy.docstrings_everywhere, "x = 1"),
        (tidy.docstrings_everywhere, '"""Doc."""\ndef f(): ...'),
        (tidy.docstrings_everywhere, '"""Doc."""\nclass A: ...'),
        (tidy.docstrings_everywhere, '"""Doc."""\nclass A:\n    """Doc."""\n    def f(self): ...'),
        (tidy.no_lost_tests, "def tset_it(): ..."),
        (tidy.no_ways_around, "import pytest\npytest.skip('later')"),
        (tidy.no_ways_around, "import pytest\n@pytest.mark.xfail\ndef test_it(): ..."),
        (tidy.no_ways_around, "import pytest\nx = pytest.importorskip('torch')"),
        (tidy.no_ways_around, "from pytest import skip"),
        (tidy.no_ways_around, "import time\ntime.sleep(1)"),
        (tidy.no_ways_around, "from time import sleep"),
    ],
)
def test_a_planted_violation_is_found_once(rule: Rule, text: str) -> None:
    assert len(planted(rule, text, path="src/muster/core/utils.py")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "for x in {1, 2}: ...",
        "xs = [x for x in {y for y in ys}]",
        "for x in set(ys): ...",
        "for x in frozenset(ys) - zs: ...",
        "xs = tuple(set(ys))",
        "for i, x in enumerate(set(ys)): ...",
        "xs = [*set(ys)]",
        "text = ','.join({'a', 'b'})",
        "def f(ys):\n    seen = set(ys)\n    for x in seen: ...",
        "def f():\n    seen: set[int] = make()\n    return list(seen)",
        "def f(seen: frozenset[int] | None):\n    return [x for x in seen]",
        "def f(ys):\n    seen = set(ys)\n    return lambda: list(seen)",
        "def f(ys):\n    seen = set(ys)\n    return seen.pop()",
        "def f(ys):\n    seen = set(ys)\n    rest = seen.union(ys)\n    yield from rest",
        "ALL = frozenset({1})\ndef f():\n    for x in ALL: ...",
        "class A:\n    free: set[int]\n    def f(self):\n        for x in self.free: ...",
        "class A:\n    def __init__(self):\n        self.free = set()\n    def f(self):\n        list(self.free)",
    ],
)
def test_planted_iteration_over_a_set_is_found_once(text: str) -> None:
    assert len(planted(tidy.no_set_iteration, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "for x in sorted({1, 2}): ...",
        "found = x in {1, 2}",
        "size = len(set(ys))",
        "for x in dict.fromkeys(ys): ...",
        "seen = set()\ndef f(seen: tuple[int, ...]):\n    return list(seen)",
        "def f():\n    seen = set()\ndef g(seen):\n    return list(seen)",
    ],
)
def test_orderly_code_passes(text: str) -> None:
    assert not planted(tidy.no_set_iteration, text)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (tidy.no_impure_imports, "from muster.model.job import Job\nfrom typing import assert_never"),
        (tidy.no_impure_calls, "spec.id\nself.print(1)"),
        (tidy.no_inexact_numbers, "x = a // b\nx = 1_000"),
        (tidy.no_vague_modules, ""),
        (tidy.no_vague_functions, "def forget_job(): ...\ndef __get_schema__(): ..."),
        (tidy.docstrings_everywhere, '"""Doc."""\ndef f():\n    """Doc."""\n    def g(): ...\ndef _h(): ...'),
        (tidy.no_lost_tests, "@pytest.fixture()\ndef a(): ...\ndef b(): ...\ndef test_it(): b()"),
        (tidy.no_ways_around, "words.skip()\nclock.sleep(1)"),
    ],
)
def test_what_only_looks_like_a_violation_passes(rule: Rule, text: str) -> None:
    assert not planted(rule, text)


@pytest.mark.parametrize(
    ("rule", "limit"),
    [(tidy.no_long_functions, tidy.FUNCTION_LINES), (tidy.no_giant_functions, tidy.FUNCTION_LINES_HARD)],
)
def test_a_function_may_reach_its_limit_and_not_pass_it(rule: Rule, limit: int) -> None:
    function = "def f():" + "\n    pass" * (limit - 1)
    assert not planted(rule, function)
    assert planted(rule, function + "\n    pass")


def test_a_file_may_reach_its_limit_and_not_pass_it() -> None:
    assert not planted(tidy.no_long_files, "pass\n" * tidy.FILE_LINES)
    assert planted(tidy.no_long_files, "pass\n" * (tidy.FILE_LINES + 1))


def test_one_long_function_in_eight_is_too_many() -> None:
    long, short = tidy.SHORT_FUNCTION_LINES, tidy.SHORT_FUNCTION_LINES - 1
    assert short_percent([long] + [short] * 9) == tidy.SHORT_FUNCTIONS_PERCENT
    assert short_percent([long] + [short] * 7) < tidy.SHORT_FUNCTIONS_PERCENT


@pytest.mark.parametrize("home", ["work", "root", "home"])
def test_a_planted_machine_path_is_found(home: str) -> None:
    assert planted(tidy.no_machine_traces, f"see /{home}/someone/notes.txt", path="docs/planted.md")
    assert not planted(tidy.no_machine_traces, f"see docs/{home}/notes.txt", path="docs/planted.md")


@pytest.mark.parametrize("place", ["simple", "-/a-1.0.tgz", "packages/ab/a-1.0.whl"])
def test_a_planted_registry_is_found(place: str) -> None:
    assert planted(tidy.no_machine_traces, "https:" + f"//index.example/{place}", path="docs/planted.md")
