"""What a reader sees on a page: marks in charts, labels on top of one another, text that is cut off or pale."""

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Browser, Page

VISIBLE_CHARTS = "[...document.querySelectorAll('.chart')].filter(e => e.closest('[hidden]') === null)"

_MARKS = f"""() => Object.fromEntries({VISIBLE_CHARTS}.map(place => [place.id, {{
  expected: (place.traces ?? []).filter(trace => (trace.x ?? []).some(x => x !== null)).length,
  drawn: [...place.querySelectorAll('g.trace')].filter(trace =>
    [...trace.querySelectorAll('path')].some(path => {{
      const box = path.getBoundingClientRect();
      return path.getAttribute('d') && box.width + box.height > 0;
    }})).length,
}}]))"""

_LABELS = ".tick, .axis-title, .legend button, .annotation"

_CROWDED = f"""() => {VISIBLE_CHARTS}.flatMap(place => {{
  const labels = [...place.querySelectorAll('{_LABELS}')]
    .map(each => ({{ text: each.textContent, box: each.getBoundingClientRect() }}))
    .filter(each => each.text && each.box.width > 0);
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  return labels.flatMap((one, place_) => labels.slice(place_ + 1).filter(other => over(one.box, other.box))
    .map(other => `${{place.id}}: "${{one.text}}" touches "${{other.text}}"`));
}})"""

_CUT_OFF = f"""() => {VISIBLE_CHARTS}.flatMap(place => {{
  const frame = place.getBoundingClientRect();
  return [...place.querySelectorAll('{_LABELS}')].filter(each => {{
    const box = each.getBoundingClientRect();
    return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1
      || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
  }}).map(each => `${{place.id}}: "${{each.textContent}}"`);
}})"""

_PALE = """least => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(each => each / 255)
    .map(each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, place) => sum + each * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = element => {
    for (let each = element; each !== null; each = each.parentElement) {
      const found = numbers(getComputedStyle(each).backgroundColor);
      if (found.length === 3 || found[3] > 0.5) return found;
    }
    return [255, 255, 255];
  };
  const said = [...document.querySelectorAll('body *')].filter(each => each.checkVisibility()
    && !each.matches('script, style, noscript *')
    && [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()));
  return said.map(each => {
    const style = getComputedStyle(each);
    const [one, other] = [light(numbers(each instanceof SVGElement ? style.fill : style.color)), light(behind(each))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    return { text: each.textContent.trim().slice(0, 40), contrast };
  }).filter(each => each.contrast < least).map(each => `${each.text}: ${each.contrast.toFixed(1)}`);
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What a reader looks at a page with."""

    width_px: int
    height_px: int
    scheme: str


DESK = Screen(width_px=1440, height_px=900, scheme="light")
DESK_AT_NIGHT = Screen(width_px=1440, height_px=900, scheme="dark")
PHONE = Screen(width_px=390, height_px=844, scheme="light")


class Sight:
    """A file that is open in a browser without a network."""

    def __init__(self, browser: Browser, file: Path, screen: Screen) -> None:
        scheme: Any = screen.scheme
        self._context = browser.new_context(
            viewport={"width": screen.width_px, "height": screen.height_px}, color_scheme=scheme
        )
        self._context.set_offline(True)
        self.page: Page = self._context.new_page()
        self.complaints: list[str] = []
        """What the console, the scripts and the network said."""
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self._note_request(request.url, file.as_uri()))
        self.page.goto(file.as_uri())
        self._settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.close()

    def _note_request(self, url: str, own: str) -> None:
        if url != own and not url.startswith(("data:", "blob:")):
            self.complaints.append(f"asked for {url}")

    def _settle(self) -> None:
        """What was drawn is laid out in the next frame."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def choose(self, section: str, policy: str) -> None:
        """Press the button of a policy."""
        self.page.locator(f"#{section} .tabs button", has_text=policy).click()
        self._settle()

    def marks(self) -> dict[str, dict[str, int]]:
        """Of each chart in sight, how many of its traces should show something and how many do."""
        found: dict[str, dict[str, int]] = self.page.evaluate(_MARKS)
        return found

    def crowded(self) -> list[str]:
        """Labels of charts that lie on one another."""
        found: list[str] = self.page.evaluate(_CROWDED)
        return found

    def cut_off(self) -> list[str]:
        """Labels of charts that reach out of their chart."""
        found: list[str] = self.page.evaluate(_CUT_OFF)
        return found

    def pale(self, least: float) -> list[str]:
        """Texts that stand out less than that from what is behind them."""
        found: list[str] = self.page.evaluate(_PALE, least)
        return found

    def overflow_px(self) -> int:
        """How far the page can be scrolled sideways."""
        found: int = self.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        return found
