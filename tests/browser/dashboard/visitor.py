"""Somebody who looks at the dashboard in a browser of their own, and everything that this browser says and gets."""

from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, Request, expect

PATIENCE_MS = 30_000
"""How long anything may take on a machine that is busy with something else."""

_WATCH_POLICY = """
  window.__violations = [];
  document.addEventListener('securitypolicyviolation', ({violatedDirective, blockedURI, sourceFile, lineNumber}) =>
    window.__violations.push(`${violatedDirective}: ${blockedURI} at ${sourceFile}:${lineNumber}`));
"""

_SCROLL = """async () => {
  const frames = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (let top = 0; top < document.body.scrollHeight; top += innerHeight / 2) {
    scrollTo(0, top);
    await frames();
  }
  scrollTo(0, 0);
  await frames();
}"""


class Visitor:
    """A page in a browser context of its own: no cookie and no storage is shared with another visitor."""

    def __init__(self, browser: Browser, url: str, *, width_px: int = 1280, scheme: Any = "light") -> None:
        self.url = url
        self._context = browser.new_context(viewport={"width": width_px, "height": 800}, color_scheme=scheme)
        self._context.set_default_timeout(PATIENCE_MS)
        self._context.add_init_script(_WATCH_POLICY)
        self.page: Page = self._context.new_page()
        self.errors: list[str] = []
        """What scripts raised, and dialogs that they opened."""
        self.foreign: list[str] = []
        """Requests to another host."""
        self.asked: list[str] = []
        """The paths of all requests, in order."""
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", self._refuse_dialog)
        self.page.on("request", self._note_request)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.close()

    def _refuse_dialog(self, dialog: Any) -> None:
        self.errors.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _note_request(self, request: Request) -> None:
        found = urlsplit(request.url)
        if found.scheme in ("http", "https", "ws", "wss") and found.netloc != urlsplit(self.url).netloc:
            self.foreign.append(request.url)
        self.asked.append(found.path)

    def enter(self, link: str) -> None:
        """Open a link that signs in, and wait until the first page is live."""
        self.page.goto(link)
        self.is_live()

    def paste(self, token: str) -> None:
        """Sign in with a token."""
        self.page.goto(f"{self.url}/sign-in")
        self.page.get_by_label("Or paste a token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.is_live()

    def open(self, path: str) -> None:
        """Load a page of the dashboard."""
        self.page.goto(f"{self.url}{path}")
        expect(self.page.locator("h1")).to_have_count(1)

    def read_through(self) -> None:
        """Scroll to the end of the page and back: what is far down asks for what it shows when it comes into sight."""
        self.page.evaluate(_SCROLL)

    def is_live(self) -> None:
        """Wait until the page hears of changes."""
        expect(self.seen("connection")).to_have_text("live")

    def seen(self, name: str, **attributes: str) -> Locator:
        """What the tests know by this name, with these `data-` attributes."""
        more = "".join(f'[data-{key}="{value}"]' for key, value in attributes.items())
        return self.page.locator(f'[data-testid="{name}"]{more}')

    def confirm(self, verb: str) -> None:
        """Say yes to the question that the page asks."""
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_role("button", name=verb, exact=True).click()
        expect(dialog).to_have_count(0)

    def violations(self) -> list[str]:
        """What the page tried and its policy did not allow."""
        found: list[str] = self.page.evaluate("() => window.__violations")
        return found

    def hash(self) -> str:
        """What is behind `#` in the address."""
        return urlsplit(self.page.url).fragment

    def cookies(self) -> list[Any]:
        """The cookies of this browser."""
        return list(self._context.cookies())
