"""What the screen shows: the last glance, and what the user chose to see of it. It draws, and knows no widget."""

from rich.console import Console, Group, RenderableType

from muster.cli.drawing.table import TextTable
from muster.cli.drawing.wording import now
from muster.cli.terminal.screen import is_plain
from muster.cli.terminal.text import Text
from muster.cli.top.glance import Glance
from muster.cli.top.gpu_map import Letters, Paint, gpu_map, legend, painted
from muster.cli.top.job_rows import JobChoice, JobOrder, chosen, job_rows
from muster.cli.top.node_rows import chosen_nodes, node_rows
from muster.cli.top.selection import Selection, Told, job_title, node_text, selected, told_text
from muster.cli.top.utilisation import headline, pool_lines, tier_line, title
from muster.client.answers import Job, Node
from muster.model.printable import one_line

MAP_SHARE = 4
"""The map takes at most one line in four."""
MAP_ROWS_MIN = 3
_KEYS = "? help  q quit  / filter  s sort  c cancel  h hold  u release  Tab nodes"
_NODE_KEYS = "? help  q quit  / filter  d drain  u undrain  Tab jobs"


class TopView:
    """One user's view of the cluster."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._plain = is_plain(console)
        self._letters: Letters = {}
        self._paint = Paint.JOB
        self.glance: Glance | None = None
        self.choice = JobChoice()
        self.shows_nodes = False
        self.rank = 0
        self.told: Told | None = None
        self.untold = ""
        """Why there is nothing to tell."""

    def take(self, glance: Glance) -> None:
        """Show this from now on."""
        self.glance = glance
        self._letters = painted(glance, self._paint, self._letters)

    def repaint(self) -> None:
        """Letters for the next thing: jobs, teams, tiers."""
        paints = list(Paint)
        self._paint = paints[(paints.index(self._paint) + 1) % len(paints)]
        self._letters = {} if self.glance is None else painted(self.glance, self._paint, {})

    def job(self, key: str | None) -> Job | None:
        """The job with this id, if it is still there."""
        jobs = () if self.glance is None else self.glance.jobs
        return next((job for job in jobs if job.id == key), None)

    def node(self, key: str | None) -> Node | None:
        """The node of this name."""
        nodes = () if self.glance is None else self.glance.nodes
        return next((node for node in nodes if node.name == key), None)

    def selection(self, key: str | None) -> Selection | None:
        """What the server is to be asked about the row with the cursor."""
        job = None if self.shows_nodes else self.job(key)
        return None if job is None else selected(job, self.rank)

    def change_rank(self, key: str | None, by: int) -> None:
        """Choose the rank before or after the present one."""
        job = self.job(key)
        ranks = sorted(worker.rank for worker in job.workers) if job is not None else []
        if ranks:
            place = ranks.index(self.rank) if self.rank in ranks else 0
            self.rank = ranks[max(0, min(place + by, len(ranks) - 1))]

    def head(self, glance: Glance, width: int, problem: str) -> RenderableType:
        """Which server, how full, and whether it answers."""
        state = Text(problem, style="red") if problem else Text("live", style="green")
        lines = [title(glance, state), headline(glance, width=width, plain=self._plain)]
        lines += [*pool_lines(glance, width=width, plain=self._plain), tier_line(glance)]
        return Group(*(_on_one_line(line) for line in lines))

    def map(self, glance: Glance, width: int, height: int) -> RenderableType:
        """The nodes and their GPUs."""
        rows = max(MAP_ROWS_MIN, height // MAP_SHARE)
        lines = gpu_map(glance, self._letters, paint=self._paint, width=width, rows=rows, plain=self._plain)
        lines += [] if self._paint is Paint.JOB else [legend(self._letters)]
        return Group(*(_on_one_line(line) for line in lines))

    def bar(self, glance: Glance) -> Text:
        """What the table shows."""
        words = f", about: {one_line(self.choice.words)}" if self.choice.words else ""
        if self.shows_nodes:
            return _on_one_line(Text.assemble(("nodes", "bold"), f"  {len(glance.nodes)}{words}"))
        running, waiting = glance.totals
        unseen = sum(glance.unlisted)
        order = f", by {self.choice.order}" if self.choice.order is not JobOrder.USUAL else ""
        turned = ", reversed" if self.choice.is_reversed else ""
        left_out = f"  ({unseen} more are not listed)" if unseen else ""
        said = f"  {running} run, {waiting} wait{order}{turned}{words}{left_out}"
        return _on_one_line(Text.assemble((self.choice.which.value, "bold"), said))

    def rows(self, glance: Glance) -> tuple[list[str], TextTable]:
        """The rows of the table, and what each is about."""
        if self.shows_nodes:
            nodes = chosen_nodes(glance, self.choice.words)
            return [node.name for node in nodes], node_rows(nodes, self._console)
        jobs = chosen(glance, self.choice)
        table = job_rows(jobs, self._letters, self._paint, self._console, glance.present)
        return [job.id for job in jobs], table

    def about(self, key: str | None) -> Text:
        """What the lower pane is about."""
        job = self.job(key)
        if self.shows_nodes or job is None:
            return Text()
        return _on_one_line(job_title(job, selected(job, self.rank).rank))

    def words(self, key: str | None) -> RenderableType:
        """What the lower pane says."""
        node = self.node(key) if self.shows_nodes else None
        if node is not None:
            return node_text(node)
        job = self.job(key)
        if job is None:
            return Text("nothing to show; Esc shows everything again", style="dim")
        if self.untold:
            return Text(self.untold, style="red")
        if self.told is None or self.told.selection != selected(job, self.rank):
            return Text("…", style="dim")
        return told_text(self.told, job, self._console, now())

    def keys(self) -> Text:
        """The most important keys."""
        return _on_one_line(Text(_NODE_KEYS if self.shows_nodes else _KEYS, style="dim"))


def _on_one_line(text: Text) -> Text:
    """The text, cut where the window ends: a line more would push the others down."""
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
