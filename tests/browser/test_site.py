"""The documents as a site: nothing in it is broken, and it can be read by day, at night, on a phone and off line."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from docs.site.staging import ROOT
from tests.browser.sight import DESK, DESK_AT_NIGHT, PHONE, Screen, Sight

BUILD = "sys.exit(build(Path(sys.argv[1]), Path(sys.argv[2])))"
READABLE = 4.5
"""What WCAG asks for of text."""

SHOWN = ("index.html", "docs/ARCHITECTURE.html", "reference/api/jobs.html", "reference/commands/jobs.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    made = run("-m", "docs.site", str(folder))
    assert made.returncode == 0, made.stderr
    return folder


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: what Sphinx warns Python of is not ours."""
    return subprocess.run([sys.executable, *words], cwd=ROOT, check=False, capture_output=True, text=True)


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def test_every_document_operation_and_command_is_on_it(site: Path) -> None:
    texts = {str(path.relative_to(site)): path.read_text("utf-8") for path in pages(site)}
    for document in (ROOT / "docs").rglob("*.md"):
        assert str(document.relative_to(ROOT).with_suffix(".html")) in texts
    assert "muster story" in texts["reference/commands/jobs.html"]
    assert "muster token create" in texts["reference/commands/server-and-access.html"]
    assert "/v1/jobs/{job}/story" in texts["reference/api/jobs.html"]
    assert "resources.gpu_type" in texts["reference/api/job-file.html"]
    assert "starts by" in texts["examples/index.html"]


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text("# A page\n\n[itself](index.md) [nowhere](nowhere.md) [x](#no-place)\n", "utf-8")
    words = f"import sys; from pathlib import Path; from docs.site.__main__ import build; {BUILD}"
    made = run("-c", words, str(source), str(tmp_path / "site"))
    assert made.returncode != 0
    assert [place for place in ("index.md'", "nowhere.md'", "'no-place'") if place in made.stderr] == [
        "nowhere.md'",
        "'no-place'",
    ]


@pytest.mark.parametrize("screen", [DESK, DESK_AT_NIGHT, PHONE], ids=["day", "night", "phone"])
def test_it_can_be_read_without_a_network(site: Path, browser: Browser, screen: Screen) -> None:
    for name in SHOWN:
        with Sight(browser, site / name, screen) as sight:
            assert [each for each in sight.complaints if not each.startswith("asked for file:")] == []
            assert sight.overflow_px() <= 0
            assert sight.pale(READABLE) == [], name


def test_no_page_is_wider_than_a_phone(site: Path, browser: Browser) -> None:
    assert len(pages(site)) > 40
    with Sight(browser, site / "index.html", PHONE) as sight:
        for path in pages(site):
            sight.page.goto(path.as_uri())
            assert sight.overflow_px() <= 0, path.name
