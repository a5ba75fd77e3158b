"""What a server is configured with, and how that becomes one with what was changed at run time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from muster.engine.engine import Engine
from muster.formats.rules.rule_merge import ChangedBy, RuleChange, RuleMerge, merge_rules
from muster.formats.text.units import shown
from muster.model.closed_rules import closed
from muster.model.events import CONFIGURATION, ENGINE, NodeLost, ObservedEvent
from muster.model.ids import NodeName
from muster.model.node import ClusterSpec
from muster.model.records import evolve
from muster.model.scenario import Rules

NAMED = 5
"""As many settings as a note names one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Everything that ran on the former nodes has been ended, but the log does not say so yet."""

    last_words: tuple[ObservedEvent, ...] = ()
    """The last reports of those nodes, which are not recorded yet."""
    on_recorded: Callable[[], None] = lambda: None
    """Called once that is in the log, before anything is sent to the nodes that now have their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The cluster that Muster manages, and the rules to begin with."""

    cluster: ClusterSpec
    rules: Rules | None = None
    """Joined with what was changed at run time; None leaves the rules as they are."""
    drop_changes: bool = False
    """Put these rules in force as they are, and drop what was changed at run time before this start."""
    fence: Fence | None = None
    """Set when other machines now have the names of the nodes."""


def configure(engine: Engine, configuration: Configuration, now_ms: int) -> RuleMerge | None:
    """Give the engine the configured nodes and rules, in one transaction. Returns how the rules were joined."""
    fence, merge = configuration.fence, None
    with engine.batch():
        if fence is not None:
            engine.observe(*(evolve(event, at_ms=now_ms) for event in fence.last_words))
            engine.observe(*(_fenced(node, now_ms) for node in engine.state.nodes))
        engine.change_cluster(configuration.cluster, now_ms, by=CONFIGURATION)
        if configuration.rules is not None:
            merge = merge_into(engine, configuration.rules, drop=configuration.drop_changes)
            engine.change_rules(merge.rules, now_ms, by=CONFIGURATION, configured=closed(configuration.rules))
        # Rules that were saved before teams had bounds leave open what a server denies.
        engine.change_rules(closed(engine.rules), now_ms, by=ENGINE)
    return merge


def merge_into(engine: Engine, rules: Rules, *, drop: bool) -> RuleMerge:
    """The rules of a file joined with what is in force. Nothing is changed."""
    return merge_rules(file=rules, configured=engine.state.configured, now=engine.rules, drop=drop)


def merge_notes(merge: RuleMerge, *, is_told: bool) -> Iterator[str]:
    """What an operator should know about how rules were joined. `is_told`: the operator said what should happen."""
    if not merge.is_first:
        yield from (f"the configuration changed: {_change(change)}" for change in merge.by(ChangedBy.FILE)[:NAMED])
    drops = [change for change in merge.changes if change.changed_by is not ChangedBy.FILE and _is_dropped(change)]
    if drops:
        yield f"dropped what was changed at run time: {_listed(drops)}"
    kept = [change for change in merge.by(ChangedBy.RUN_TIME) if not _is_dropped(change)]
    if kept:
        yield f"changed at run time and kept: {_listed(kept)}; `muster config diff` shows it beside the file"
    if not is_told:
        for change in merge.by(ChangedBy.BOTH):
            said = f"the file now says {shown(change.file)}, and it was changed to {shown(change.now)} at run time"
            yield f"{change.setting}: {said}, which is kept; `muster config apply` with --drop-changes takes the file's"


def _is_dropped(change: RuleChange) -> bool:
    return bool(change.becomes == change.file)


def _listed(changes: list[RuleChange]) -> str:
    named = ", ".join(_change(change) for change in changes[:NAMED])
    return f"{named} and {len(changes) - NAMED} more" if len(changes) > NAMED else named


def _change(change: RuleChange) -> str:
    before = change.now if _is_dropped(change) else change.file
    if any(isinstance(value, list | dict) for value in (before, change.becomes)):
        return change.setting
    return f"{change.setting} is {shown(change.becomes)}, not {shown(before)}"


def _fenced(node: NodeName, now_ms: int) -> NodeLost:
    return NodeLost(at_ms=now_ms, node=node, because="the nodes of another home took its place")
