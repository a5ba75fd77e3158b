"""`muster simulate --recommend`: which settings of the policy would have been better on this history, if any."""

from dataclasses import replace
from pathlib import Path

from muster.cli.simulation.notes import (
    tell_besides,
    tell_columns,
    tell_hidden,
    tell_replay,
    tell_rows,
    tell_search,
    tell_skipped,
    tell_unused,
)
from muster.cli.simulation.policies import policies_asked, policy_files
from muster.cli.simulation.progress import watched_replay
from muster.cli.simulation.recommendation_text import print_recommendation
from muster.cli.simulation.setup import (
    ReplayOptions,
    cluster_source,
    latest,
    rules_besides,
    setup_of,
    surroundings,
)
from muster.cli.terminal.options import Output
from muster.cli.terminal.screen import show_json
from muster.formats.rules.cluster_file import is_size
from muster.formats.text.document import read_document
from muster.formats.text.units import duration_text
from muster.model.errors import InvalidInput
from muster.model.trace import Trace
from muster.policies import NamedPolicy
from muster.sim.outcome import Replay
from muster.sim.recommend.document import recommendation_document, settings_to_write
from muster.sim.recommend.recommendation import recommend
from muster.sim.variation import Setup

PERIOD = "28d"
"""The history that is looked at. What was months ago was another cluster with other users."""
USUAL = "muster"


def recommend_settings(options: ReplayOptions, output: Output, html: Path | None) -> None:
    """Look for better settings and print what was found."""
    _check_options(options, html)
    options = replace(options, policy=options.policy or _present_policy(options), since=options.since or PERIOD)
    present = _only_policy(options)
    options = replace(options, restart_cost=options.restart_cost or duration_text(present.rules.restart_cost_ms))
    tell_hidden([present])
    tell_besides(rules_besides(options))
    around = surroundings(options)
    tell_unused(cluster_source(options), around.unused)
    whole = setup_of(replace(options, since=None), around)
    base = replace(whole, trace=latest(whole.trace, options.since or PERIOD))
    tell_skipped(base.trace)
    tell_columns(base.trace)
    tell_rows(base.trace)
    tell_search(whole.trace, base.trace, present.rules, options)
    given = base.circumstances
    made = recommend(base.arriving, present, _Replays(base, present), teams=given.teams, tiers=given.tiers)
    if output is Output.JSON:
        show_json(recommendation_document(made))
        return
    files = policy_files(options.policy)
    best = made.judged.best if made.judged is not None else None
    lines = {} if best is None else settings_to_write(made, best, is_file=bool(files))
    print_recommendation(made, lines, file=files[0] if files else "")


class _Replays:
    """Replays what the search asks for. What people should know is said once for each part, for the present policy."""

    def __init__(self, base: Setup, present: NamedPolicy) -> None:
        self._base = base
        self._present = present
        self._count = 0

    def __call__(self, trace: Trace, policy: NamedPolicy) -> Replay:
        self._count += 1
        what = f"replay {self._count}"
        made = watched_replay(trace, self._base.cluster, policy, self._base.circumstances, what=what)
        if policy == self._present or made.dropped_plans:
            tell_replay(made, policy.name)
        return made


def _check_options(options: ReplayOptions, html: Path | None) -> None:
    for option, given in (("--vary", options.vary), ("--html", html)):
        if given is not None:
            raise InvalidInput(f"--recommend has an answer of its own; leave out {option}")


def _present_policy(options: ReplayOptions) -> str:
    """The policy of the cluster file if it has one, else that of the live system."""
    source = cluster_source(options)
    if not is_size(source) and Path(source).is_file() and policy_files(source):
        value = read_document(source).value
        if isinstance(value, dict) and value.get("policy"):
            return source
    return USUAL


def _only_policy(options: ReplayOptions) -> NamedPolicy:
    found = policies_asked(options.policy, options.packing)
    if len(found) > 1:
        raise InvalidInput(f"--recommend looks for better settings of one policy; --policy names {len(found)}")
    return found[0]
