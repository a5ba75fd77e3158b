"""What the docs say is true: their code runs, their files, names and commands exist, their links lead somewhere."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from docs.site.reference_pages import reference_pages
from muster.cli.main import app
from muster.core.offline import decide
from muster.formats.scenarios.plan_answer import answer
from muster.formats.scenarios.scenario_file import scenario_from_document
from muster.formats.text.document import parse_document

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "muster"
README = ROOT / "README.md"
GLOSSARY = ROOT / "docs" / "GLOSSARY.md"
DOCS = tuple(sorted([README, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]))
RECORDS = tuple(sorted((ROOT / "docs" / "adr").glob("*.md")))
RECORD_LINES_MAX = 60

LEFT_OUT = "…"
"""A line of its own in a shown output: what follows is further down."""

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\((?!\w+://)([^)#]*)(?:#([^)]+))?\)")
QUOTED = re.compile(r"`([^`\n]+)`")
FILE_NAME = re.compile(r"[\w./-]+\.(?:md|py|toml|txt|yaml)")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A piece of code in a document."""

    document: Path
    language: str
    text: str


@cache
def blocks(document: Path) -> tuple[Block, ...]:
    found = BLOCK.findall(document.read_text("utf-8"))
    return tuple(Block(document=document, language=language, text=text) for language, text in found)


def all_blocks(language: str) -> list[Block]:
    return [block for document in DOCS for block in blocks(document) if block.language == language]


def prose(document: Path) -> str:
    """A document without its blocks of code."""
    return BLOCK.sub("", document.read_text("utf-8"))


def name_of(value: object) -> str:
    if isinstance(value, Block):
        return f"{name_of(value.document)}:{value.text.splitlines()[0].strip('# $')[:40]}"
    return value.relative_to(ROOT).as_posix() if isinstance(value, Path) else str(value)


def write_files(document: Path, folder: Path) -> None:
    """Write the documents whose first line names a file, for commands to find."""
    for block in blocks(document):
        first = block.text.splitlines()[0]
        if block.language == "yaml" and first.startswith("# "):
            (folder / first.removeprefix("# ")).write_text(block.text, "utf-8")


def shows(shown: object, real: object) -> bool:
    """True when a shown value is the real one, perhaps with some keys of mappings left out."""
    match shown, real:
        case dict(), dict():
            return all(key in real and shows(value, real[key]) for key, value in shown.items())
        case list(), list():
            return len(shown) == len(real) and all(shows(*pair) for pair in zip(shown, real, strict=True))
        case _:
            return bool(shown == real)


def missing_lines(shown: str, real: str) -> list[str]:
    """Shown lines that the real output does not have there; after a line left out the next may be further down."""
    lines = [line.rstrip() for line in real.splitlines()]
    missing: list[str] = []
    at, may_skip = 0, False
    for line in (each.rstrip() for each in shown.splitlines()):
        if line == LEFT_OUT:
            may_skip = True
            continue
        found = [number for number in range(at, len(lines)) if lines[number] == line]
        if not found or (found[0] > at and not may_skip):
            missing.append(line)
        else:
            at, may_skip = found[0] + 1, False
    return missing


def offline_blocks() -> list[Block]:
    """Python that needs no server. `tests/e2e/test_shown_examples.py` runs the rest against one."""
    return [block for block in all_blocks("python") if not needs_server(block) and not is_training(block)]


def is_training(block: Block) -> bool:
    return "from muster.train import" in block.text


def needs_server(block: Block) -> bool:
    return re.search(r"^(from muster import Client|import muster)$", block.text, re.MULTILINE) is not None


def test_every_test_that_is_said_to_prove_something_exists() -> None:
    named = re.findall(r"`(tests/[^`:]+)(?:::([a-z0-9_]+))?[^`]*`", (ROOT / "docs" / "TRIED.md").read_text("utf-8"))
    assert len(named) > 100
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text("utf-8") if name else (ROOT / path).exists(), (path, name)


@pytest.mark.parametrize("name", reference_pages())
def test_the_reference_is_what_the_declarations_say(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text("utf-8")
    assert written == reference_pages()[name], "`python -m docs.site.reference_pages` writes it anew"
    rows = [line.split(" | ") for line in written.splitlines() if line.startswith("| `")]
    assert [row[0] for row in rows if len(row) != 4 or row[1] in ("", "text |") or row[3] == "|"] == []


@pytest.mark.parametrize("block", offline_blocks(), ids=name_of)
def test_python_runs(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(block.text, name_of(block), "exec"), {})


@pytest.mark.parametrize("block", all_blocks("console"), ids=name_of)
def test_a_command_prints_what_is_shown(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command, _, shown = block.text.partition("\n")
    program, *arguments = command.removeprefix("$ ").split()
    assert program == "muster"
    write_files(block.document, tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert missing_lines(shown, CliRunner().invoke(app, arguments).output) == []


def test_the_scenario_in_the_readme_has_the_answer_shown() -> None:
    (text, shown), *more = [
        (before.text, after.text)
        for before, after in pairwise(blocks(README))
        if (before.language, after.language) == ("yaml", "json")
    ]
    assert not more
    assert len(text.splitlines()) <= 10
    scenario = scenario_from_document(parse_document(text, file="README.md"))
    decision = decide(scenario)
    real = answer(decision.plan, scenario, decision.explanations, decision.rejected)
    assert shows(yaml.safe_load(shown), real), real


def test_a_wrong_answer_would_be_noticed() -> None:
    assert shows({"starts": [{"job": "a"}]}, {"starts": [{"job": "a", "workers": []}], "holds": []})
    assert not shows({"starts": [{"job": "a"}]}, {"starts": [{"job": "b"}]})
    assert not shows({"starts": []}, {"starts": [{"job": "a"}]})
    assert not shows({"ends": []}, {"starts": []})


def test_a_wrong_output_would_be_noticed() -> None:
    assert missing_lines("a\n…\nc", "a\nb\nc\n") == []
    assert missing_lines("a\nc", "a\nb\nc\n") == ["c"]
    assert missing_lines("…\nc\na", "a\nb\nc\n") == ["a"]


def commands(document: Path, program: str) -> Iterator[str]:
    """The first word after each mention of a program in code."""
    texts = [block.text for block in blocks(document)] + QUOTED.findall(prose(document))
    for text in texts:
        yield from re.findall(rf"^(?:\$ )?{program} ([a-z]+)", text, re.MULTILINE)


@pytest.mark.parametrize("document", DOCS, ids=name_of)
def test_commands_exist(document: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert [name for name in commands(document, "make") if name not in targets] == []
    for name in commands(document, "muster"):
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0, name


def test_the_readme_names_the_test_command_that_ci_runs() -> None:
    assert "test" in commands(README, "make")
    assert "exec make test" in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("document", DOCS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    for target, anchor in LINK.findall(prose(document)):
        path = (document.parent / target).resolve() if target else document
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path), f"{target}#{anchor}"


def anchors(document: Path) -> list[str]:
    headings = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("document", DOCS, ids=name_of)
def test_files_that_are_named_exist(document: Path) -> None:
    named = [text for text in QUOTED.findall(prose(document)) if FILE_NAME.fullmatch(text) and "/" in text]
    assert [name for name in named if not any((base / name).exists() for base in (ROOT, SOURCES))] == []


@dataclass(frozen=True, kw_only=True)
class Names:
    """What the source defines."""

    top: frozenset[str]
    """Classes, functions, methods and module-wide names."""
    members: frozenset[str]
    """`Class.member`, for everything a class has."""


@cache
def defined() -> Names:
    top: set[str] = set()
    members: set[str] = set()
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        top.update(_assigned(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                top.add(node.name)
            if isinstance(node, ast.ClassDef):
                members.update(f"{node.name}.{member}" for member in _members(node))
    return Names(top=frozenset(top), members=frozenset(members))


def _assigned(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        match each:
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def _members(node: ast.ClassDef) -> Iterator[str]:
    yield from _assigned(node)
    for each in ast.walk(node):
        match each:
            case ast.FunctionDef(name=name):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name
            case _:
                pass


def glossary() -> Iterator[tuple[str, list[str]]]:
    """Every word with its names in code."""
    for line in GLOSSARY.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 3 and cells[0] != "Word":
            yield cells[0], QUOTED.findall(cells[1])


def test_every_word_of_the_glossary_is_in_the_code() -> None:
    names = defined()
    known = names.top | names.members
    assert len(list(glossary())) > 50
    assert [(word, name) for word, found in glossary() for name in found or [""] if name not in known] == []


def test_every_word_of_the_glossary_is_there_once() -> None:
    words = [word for word, _ in glossary()]
    assert sorted(dict.fromkeys(words)) == sorted(words)


@pytest.mark.parametrize("record", RECORDS, ids=name_of)
def test_a_decision_record_is_short_and_has_its_parts(record: Path) -> None:
    text = record.read_text("utf-8")
    assert len(text.splitlines()) < RECORD_LINES_MAX
    assert text.startswith(f"# {int(record.name[:4])}. ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]


def test_what_is_installed_from_an_index_is_this_package() -> None:
    name = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["name"]
    asked = re.compile(r"pip install(?: --?[\w-]+)* '?(muster[\w-]*)")
    found = {each for document in DOCS for each in asked.findall(document.read_text("utf-8"))}
    assert found == {name}
