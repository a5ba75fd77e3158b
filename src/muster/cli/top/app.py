"""The screen of `muster top`: the widgets, the keys, and which answer goes where.

What is drawn is made by the modules beside this one, from answers alone. The server is asked on threads (`looking`).
What they find arrives here as messages.
"""

from collections.abc import Callable
from dataclasses import replace
from threading import Thread
from typing import ClassVar

from rich.console import Console
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from muster.cli.drawing.wording import now
from muster.cli.terminal.text import Text
from muster.cli.top.changes import PlannedChange, asked_of_job, asked_of_node
from muster.cli.top.dialogs import Help, Question
from muster.cli.top.glance import Glance, look
from muster.cli.top.job_rows import Which
from muster.cli.top.looking import Connection, Looker, Stopped, listen
from muster.cli.top.rows import Rows
from muster.cli.top.selection import Selection, Told, ask
from muster.cli.top.view import TopView
from muster.client import Client
from muster.model.errors import MusterError
from muster.model.printable import one_line

LEAST_S = 0.5
"""How often the server is asked at most, however many events there are."""
LOW_ROWS = 30
"""A window with fewer lines has no empty ones."""
TINY_ROWS = 18
"""A window with fewer lines has no map."""
TOLD_S = 2.0
"""How often the log or the reasons of the selected job are asked for, without events."""


KEYS = (
    ("q", "quit"),
    ("ctrl+c", "leave"),
    ("question_mark", "help"),
    ("tab,shift+tab", "other_table"),
    ("enter", "enlarge"),
    ("slash", "filter"),
    ("escape", "clear"),
    ("a", "which('ALL')"),
    ("r", "which('RUNNING')"),
    ("w", "which('WAITING')"),
    ("s", "sort"),
    ("S", "reverse"),
    ("m", "paint"),
    ("left_square_bracket", "rank(-1)"),
    ("right_square_bracket", "rank(1)"),
    ("c", "request('cancel')"),
    ("h", "request('hold')"),
    ("u", "request('release')"),
    ("d", "request('drain')"),
)


class Looked(Message):
    """The server was looked at, or could not be."""

    def __init__(self, found: Glance | MusterError) -> None:
        super().__init__()
        self.found = found


class Answered(Message):
    """The server said something of the selected job, or could not."""

    def __init__(self, found: Told | MusterError | None) -> None:
        super().__init__()
        self.found = found


class Done(Message):
    """A request was carried out, or was not."""

    def __init__(self, text: str, *, failed: bool) -> None:
        super().__init__()
        self.text = text
        self.failed = failed


class Top(App[None]):
    """The cluster, live."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; overflow: hidden; }
    #bar, #about, #keys { text-wrap: nowrap; text-overflow: ellipsis; }
    #head, #map { height: auto; }
    #map { margin: 1 0 0 0; }
    #bar { height: 1; margin: 1 0 0 0; }
    #rows { height: 1fr; min-height: 4; }
    #rows, #told { overflow-x: hidden; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    #about { height: auto; border-top: solid ansi_bright_black; }
    .low #about { border-top: none; }
    #told { height: 30%; min-height: 4; }
    #told > Static { height: auto; }
    #filter { height: 1; border: none; padding: 0; display: none; }
    #keys { height: 1; }
    .low #map, .low #bar { margin: 0; }
    .tiny #map { display: none; }
    .tiny #head { max-height: 2; }
    .tiny #rows, .tiny #told { min-height: 2; }
    .large #head, .large #map, .large #bar, .large #rows { display: none; }
    .large #told { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding(keys, action, priority=True) for keys, action in KEYS]
    # Keys of the screen come before those of the widgets, so that keys that arrive together are taken one by one: in
    # `/abc` the `a` belongs to the words, and not to the table that had the focus when the `/` came.

    def __init__(
        self, connect: Callable[[Callable[[float], None]], Client], console: Console, *, every_s: float
    ) -> None:
        """`console` says what the terminal can show. The server is looked at after `every_s` at the latest."""
        # The terminal's own colours, whether it is dark or light, and with NO_COLOR those of its text and background.
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.view = TopView(console)
        self._connection = Connection(connect)
        self._asked: Selection | None = None
        self._problem = ""
        self._looker = Looker[Glance](
            self._connection,
            lambda client: look(client, now()),
            lambda found: self._post(Looked(found)),
            least_s=min(LEAST_S, every_s),
            most_s=every_s,
        )
        self._explainer = Looker[Told | None](
            self._connection,
            lambda client: None if self._asked is None else ask(client, self._asked),
            lambda found: self._post(Answered(found)),
            least_s=LEAST_S,
            most_s=TOLD_S,
        )

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        for name in ("head", "map", "bar"):
            yield Static(id=name)
        yield Rows(id="rows")
        yield Static(id="about")
        with VerticalScroll(id="told", can_focus=False):
            yield Static(id="words")
        yield Input(id="filter", placeholder="words, or team:nlp; Enter keeps them, Esc drops them")
        yield Static(id="keys")

    def on_mount(self) -> None:
        """Begin to look."""
        self.query_one(Rows).focus()
        self.query_one("#head", Static).update(Text(f"muster: asking {one_line(self._connection.client.url)} …"))
        self._looker.start()
        self._explainer.start()
        listen(self._connection, self._wake)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Whether a key means something now: words and questions take all keys themselves, but for these."""
        if isinstance(self.screen, ModalScreen):
            return action == "leave"
        return action in ("clear", "leave") or not isinstance(self.focused, Input)

    def on_unmount(self) -> None:
        """Let the threads end."""
        self._connection.stopped.set()
        self._looker.wake()
        self._explainer.wake()

    def on_resize(self) -> None:
        """Draw again, for the new size. This comes after the widgets have got theirs."""
        self.call_after_refresh(self._draw)

    def on_looked(self, message: Looked) -> None:
        """Show what was found. Without an answer, the last picture stays."""
        if isinstance(message.found, MusterError):
            self._problem = f"no answer, trying again: {one_line(str(message.found))}"
        else:
            self._problem = ""
            self.view.take(message.found)
        self._draw()

    def on_answered(self, message: Answered) -> None:
        """Show what was said of the selected job, unless another one is selected by now."""
        found = message.found
        if isinstance(found, MusterError):
            self.view.told, self.view.untold = None, one_line(str(found))
        elif found is None or found.selection == self._asked:
            self.view.told, self.view.untold = found, ""
        if self.screen_stack:
            self._draw_told()

    def on_done(self, message: Done) -> None:
        """Say what came of a request."""
        self.notify(message.text, severity="error" if message.failed else "information", markup=False)
        self._looker.wake()
        self._explainer.wake()

    def on_rows_moved(self) -> None:
        """Ask about the job that is selected now."""
        self.view.rank = 0
        self._draw_told()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as the user types."""
        self.view.choice = self.view.choice.with_words(event.value)
        self._draw()

    def on_input_submitted(self) -> None:
        """Keep the words."""
        self._end_filter()

    def action_leave(self) -> None:
        """End, also in the middle of a word."""
        self.exit()

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(Help())

    def action_other_table(self) -> None:
        """Jobs or nodes."""
        self.view.shows_nodes = not self.view.shows_nodes
        self._draw()

    def action_enlarge(self) -> None:
        """The log on the whole screen, and back."""
        self.screen.toggle_class("large")
        self.call_after_refresh(self._draw)

    def action_filter(self) -> None:
        """Let the user type words."""
        field = self.query_one(Input)
        field.display = True
        self.screen.set_focus(field)  # At once: the next key may already be a part of the words.

    def action_clear(self) -> None:
        """Show everything again."""
        self.screen.remove_class("large")
        self.query_one(Input).value = ""
        self.view.choice = replace(self.view.choice, words="", which=Which.ALL)
        self._end_filter()

    def action_which(self, which: str) -> None:
        """All jobs, or those that run or wait."""
        self.view.choice = replace(self.view.choice, which=Which[which])
        self.view.shows_nodes = False
        self._draw()

    def action_sort(self) -> None:
        """Sort by the next thing."""
        self.view.choice = replace(self.view.choice, order=self.view.choice.order.next, is_reversed=False)
        self._draw()

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self.view.choice = replace(self.view.choice, is_reversed=not self.view.choice.is_reversed)
        self._draw()

    def action_paint(self) -> None:
        """Letters for something else."""
        self.view.repaint()
        self._draw()

    def action_rank(self, by: int) -> None:
        """The log of another rank."""
        self.view.change_rank(self.query_one(Rows).key, by)
        self._draw_told()

    def action_request(self, verb: str) -> None:
        """Ask before something is changed."""
        key = self.query_one(Rows).key
        if self.view.shows_nodes:
            node = self.view.node(key)
            request = None if node is None else asked_of_node(verb, node)
        else:
            job = self.view.job(key)
            request = None if job is None else asked_of_job(verb, job)
        if request is not None:
            self.push_screen(Question(request.question, request.choices), lambda key: self._carry_out(request, key))

    def _carry_out(self, request: PlannedChange, key: str | None) -> None:
        if key is None:
            return

        def run() -> None:
            try:
                done = self._connection.ask(lambda client: request.carry_out(client, key))
                self._post(Done(done, failed=False))
            except MusterError as error:
                self._post(Done(one_line(str(error)), failed=True))
            except Stopped:
                return

        Thread(target=run, daemon=True).start()

    def _wake(self, job: str | None) -> None:
        self._looker.wake()
        # Whatever happens may change why a job waits. What it prints concerns no other job.
        if self._asked is not None and (job == self._asked.job or not self._asked.shows_log):
            self._explainer.wake()

    def _post(self, message: Message) -> None:
        if self.is_running:
            self.post_message(message)

    def _end_filter(self) -> None:
        self.query_one(Input).display = False
        self.screen.set_focus(self.query_one(Rows))
        self._draw()

    def _draw(self) -> None:
        """Draw everything. Before the first answer there is only the problem, if there is one."""
        glance = self.view.glance
        if not self.screen_stack:
            return  # It is being left, and an answer came late.
        if glance is None:
            if self._problem:
                self.query_one("#head", Static).update(Text(self._problem, style="red"))
            return
        width, height = self.size
        below = self.screen_stack[0]  # not a question that may be above it
        below.set_class(height < LOW_ROWS, "low")
        below.set_class(height < TINY_ROWS, "tiny")
        self.query_one("#head", Static).update(self.view.head(glance, width, self._problem))
        self.query_one("#map", Static).update(self.view.map(glance, width, height))
        self.query_one("#bar", Static).update(self.view.bar(glance))
        self.query_one("#keys", Static).update(self.view.keys())
        self.query_one(Rows).show_table(*self.view.rows(glance))
        self._draw_told()

    def _draw_told(self) -> None:
        """Draw what is said of the selected row. A log stays at its end, unless the user has scrolled up."""
        key = self.query_one(Rows).key
        asked = self.view.selection(key)
        pane = self.query_one("#told", VerticalScroll)
        was_at_end = pane.scroll_offset.y >= pane.max_scroll_y
        self.query_one("#about", Static).update(self.view.about(key))
        self.query_one("#words", Static).update(self.view.words(key))
        if asked != self._asked:
            self._asked = asked
            self._explainer.wake()
            self.call_after_refresh(pane.scroll_home, animate=False)
        elif was_at_end and asked is not None and asked.shows_log:
            self.call_after_refresh(pane.scroll_end, animate=False)
