"""The dashboard as it is served: one page for all addresses, files that may be kept, and nothing inline."""

from pathlib import Path

import httpx
import pytest

from muster.api.dashboard.files import built_files
from muster.api.routes import dashboard
from tests.api.world import World, played

PAGE = '<!doctype html><script type="module" src="/assets/index-abc.js"></script>'

FOR_BROWSERS = (
    "x-frame-options",
    "x-content-type-options",
    "referrer-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "assets" / "index-abc.js").write_text("let x;" * 1000)
    (tmp_path / "icon.svg").write_text("<svg/>")
    monkeypatch.setattr(dashboard, "_files", lambda: built_files(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("place", ["/", "/cluster", "/jobs", "/jobs/job-7", "/teams", "/nodes", "/sign-in"])
def test_every_address_shows_the_page_to_anybody_and_nothing_inline_may_run(place: str) -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        answer = await client.get(place)
        assert (answer.status_code, answer.text) == (200, PAGE)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert {"object-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy.split("; "))
        said = [answer.headers[name] for name in FOR_BROWSERS]
        assert said == ["DENY", "nosniff", "no-referrer", "same-origin", "same-origin"]
        assert answer.headers["cache-control"] == "no-cache"
        again = await client.get(place, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")

    played(scenario, who=None)


@pytest.mark.usefixtures("built")
def test_files_are_compressed_and_kept_for_ever_because_their_names_change() -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        answer = await client.get("/assets/index-abc.js")
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.text == "let x;" * 1000
        plain = await client.get("/assets/index-abc.js", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert (await client.get("/icon.svg")).headers["content-type"] == "image/svg+xml"

    played(scenario, who=None)


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("name", ["nothing.js", "..%2Findex.html", "%2e%2e%2f%2e%2e%2fetc%2fpasswd"])
def test_only_what_was_built_is_served(name: str) -> None:
    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        assert (await client.get(f"/assets/{name}")).status_code == 404

    played(scenario, who=None)


def test_a_package_without_a_dashboard_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "_files", dict)

    async def scenario(_: World, client: httpx.AsyncClient) -> None:
        answer = await client.get("/")
        assert answer.status_code == 404
        assert "Node.js" in answer.text

    played(scenario, who=None)
