"""What `muster top` asks before it changes something, and its help."""

from collections.abc import Mapping

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from muster.cli.terminal.text import Text

HELP: tuple[tuple[str, str], ...] = (
    ("↑ ↓ j k", "another row; PgUp PgDn Home End too"),
    ("Tab", "jobs or nodes"),
    ("Enter", "the log or the reasons on the whole screen, and back"),
    ("[ ]", "the log of the rank before, of the next rank"),
    ("/", "show what is about words, or team:nlp, user: tier: state: name:"),
    ("Esc", "show everything again"),
    ("a r w", "all jobs, running jobs, waiting jobs"),
    ("s S", "sort by the next thing; the other way round"),
    ("m", "letters of the map: by job, by team, by tier"),
    ("c", "cancel the job"),
    ("h u", "hold the job; release it"),
    ("d u", "drain the node; let it take work again"),
    ("? q", "this help; leave"),
)
_CELLS = "map: A a job of the list  · free  ■ in use  × bad  ░ out  ? quarantine"


def help_text() -> Text:
    """All keys, and the signs of the map."""
    text = Text()
    for keys, meaning in HELP:
        text.append(f"{keys:<8}", style="bold").append(f"  {meaning}\n")
    return text.append(f"\n{_CELLS}\n\n").append("Any key closes this.", style="dim")


class Dialog(ModalScreen[str | None]):
    """Something above the screen that goes with one key. What was typed after that key, before it was gone, is lost."""

    _is_over = False

    def leave(self, answer: str | None) -> None:
        """Go, with the first answer."""
        if not self._is_over:
            self._is_over = True
            self.dismiss(answer)


class Question(Dialog):
    """Asks before something is changed. The answer is the chosen key, or None."""

    CSS = """
    Question { align: center middle; }
    Question Static { width: auto; max-width: 90%; height: auto; padding: 1 2; border: round ansi_yellow; }
    """

    def __init__(self, question: Text, choices: Mapping[str, str]) -> None:
        """`choices` say what each key does. Every other key means no."""
        super().__init__()
        self._question = question
        self._choices = choices

    def compose(self) -> ComposeResult:
        """The question, and a line for each answer."""
        text = Text().append_text(self._question).append("\n")
        for key, meaning in self._choices.items():
            text.append(f"\n  {key}", style="bold").append(f"  {meaning}")
        yield Static(text.append("\n  any other key", style="bold").append("  nothing"))

    def on_key(self, event: events.Key) -> None:
        """Take the answer."""
        event.stop()
        self.leave(event.character if event.character in self._choices else None)


class Help(Dialog):
    """All keys."""

    CSS = """
    Help { align: center middle; }
    Help VerticalScroll { width: 79; max-width: 100%; height: auto; max-height: 100%; border: round ansi_blue; }
    Help Static { width: 100%; height: auto; padding: 0 1; }
    """

    def compose(self) -> ComposeResult:
        """The text in a frame."""
        with VerticalScroll():
            yield Static(help_text())

    def on_key(self, event: events.Key) -> None:
        """Any key closes it, except those that scroll."""
        if event.key not in ("up", "down", "pageup", "pagedown"):
            event.stop()
            self.leave(None)
