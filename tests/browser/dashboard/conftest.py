"""One server for all tests of the dashboard, and visitors that are signed in by a link."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import PATIENCE_MS, Visitor

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server takes longer to start and to stop than most tests take."""
    site = Site(tmp_path_factory.mktemp("site"))
    with site.server as server:
        server.start()
        yield site


@pytest.fixture
def site(running: Site) -> Iterator[Site]:
    """The server, without jobs that a test before left on its GPUs."""
    yield running
    if not running.server.is_dead:
        running.cancel_all()


@pytest.fixture
def visitor(browser: Browser, site: Site) -> Iterator[Visitor]:
    with Visitor(browser, site.url) as visitor:
        visitor.enter(site.link())
        yield visitor
        assert visitor.errors == []
        assert visitor.foreign == []
        assert visitor.violations() == []
