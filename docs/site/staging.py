"""What goes onto the site, and where it stands: the repository's documents as they are, beside pages made from code."""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from docs.site.api_pages import api_pages
from docs.site.command_pages import command_pages
from docs.site.example_pages import example_page

ROOT = Path(__file__).parents[2]

LINKED = (
    "LICENSE",
    "pyproject.toml",
    "docs/images",
    "deploy/grafana/muster.json",
    "deploy/systemd/muster.service",
    "examples",
)
"""What documents link to that is no document: it can be had from the site as it is."""

_LINK = re.compile(r"\[([^]]*)\]\(([^)#:\s]+)\)")


def stage(folder: Path) -> None:
    """Lay out everything that Sphinx reads, anew."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in LINKED:
        _copy(ROOT / name, folder / name)
    pages = {**_documents(), **_made()}
    pages["index.md"] += _contents()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


def _documents() -> dict[str, str]:
    """The documents of the repository where they lie in it; the README is the first page."""
    paths = [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {str(path.relative_to(ROOT)): _linked(path) for path in paths}
    return {"index.md": _linked(ROOT / "README.md"), **texts}


def _linked(path: Path) -> str:
    """The text of a document. A link to a folder leads to its first page; one that shows a path shows a title."""

    def led(found: re.Match[str]) -> str:
        text, target = found.groups()
        page = f"{target}/index.md" if (path.parent / target).is_dir() else target
        is_path = text == target or text == Path(target).name
        return f"[]({page})" if is_path and page.endswith(".md") else f"[{text}]({page})"

    return _LINK.sub(led, path.read_text("utf-8"))


def _made() -> dict[str, str]:
    """Pages that no file holds."""
    decisions = sorted((ROOT / "docs" / "adr").glob("*.md"))
    listed = _tree("", [path.stem for path in decisions], is_hidden=False)
    intro = "Decisions that had alternatives: the context, what was decided, and what follows from it."
    return {
        "docs/adr/index.md": f"# Decisions\n\n{intro}\n\n{listed}",
        "examples/index.md": example_page(ROOT / "examples"),
        **{f"reference/commands/{name}.md": text for name, text in command_pages().items()},
        **{f"reference/api/{name}.md": text for name, text in api_pages().items()},
    }


def _contents() -> str:
    """What the sidebar lists: every page is somewhere in it, or Sphinx complains."""
    return "\n".join(
        (
            _tree(
                "Guides",
                [
                    "docs/guides/tour",
                    "docs/guides/survive",
                    "docs/guides/environments",
                    "docs/guides/operate",
                    "docs/guides/admission",
                    "docs/guides/agents",
                    "docs/guides/slurm",
                    "docs/guides/kubernetes",
                    "docs/guides/ray",
                    "docs/guides/high-availability",
                    "docs/COMMAND_LINE",
                    "docs/guides/slurm-commands",
                    "docs/SIMULATOR",
                    "docs/TRACES",
                    "examples/index",
                ],
            ),
            _tree(
                "Reference",
                [
                    "docs/reference/JOB_FILE",
                    "docs/reference/MUSTER_TOML",
                    "reference/commands/index",
                    "docs/API",
                    "reference/api/index",
                    "docs/GLOSSARY",
                ],
            ),
            _tree(
                "How it works",
                [
                    "docs/ARCHITECTURE",
                    "docs/CONTROL_PLANE",
                    "docs/TRAINING",
                    "docs/HEALTH",
                    "docs/RELIABILITY",
                    "docs/PROOFS",
                    "docs/adr/index",
                ],
            ),
            _tree("Taking part", ["CONTRIBUTING", "docs/CHECKLISTS", "docs/TRIED", "CHANGELOG"]),
        )
    )


def _tree(caption: str, names: Iterable[str], *, is_hidden: bool = True) -> str:
    options = [f":caption: {caption}"] * bool(caption) + [":hidden:"] * is_hidden + [":maxdepth: 1"]
    return "\n".join(["", "```{toctree}", *options, "", *names, "```", ""])
