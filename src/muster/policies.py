"""Policies by name: the built-in ones, and plug-ins from other packages.

A policy is data: the `Policy` that an operator would write into a file. So all policies share one engine, one way to
place gangs and one way to count. A policy that needs other decisions altogether brings its own planner.

A package adds its own policies under the entry point group `muster.policies`. The name is what a user types, and the
object is a `NamedPolicy`. When its planner raises, or returns something else than a plan, the error names the policy.
"""

from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import extract_tb

from muster.core.order.ranks import AttainedBands, ServiceLeft
from muster.core.planning.by_rank import plan_by_rank
from muster.core.snapshot import Snapshot
from muster.engine.decisions import Planner
from muster.model.errors import InvalidInput
from muster.model.limits import MAX_DURATION_MS
from muster.model.plan import Plan
from muster.model.policy import Order, Packing, Policy
from muster.model.records import evolve

PLUG_INS = "muster.policies"
"""The entry point group."""

NEVER_STARVING_MS = 100 * MAX_DURATION_MS
"""Longer than any replay, so that no job is promised a start because it has waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPolicy:
    """A way to schedule that can be asked for by name."""

    name: str
    summary: str
    """One line for the list of policies."""
    rules: Policy
    knows_durations: bool = False
    """True for oracles: in a replay every job says exactly how long it will run."""
    planner: Planner | None = None
    """Decides instead of the planning core; None for a policy that rules can express."""

    def packed(self, packing: Packing) -> "NamedPolicy":
        """The same policy with this packing."""
        return replace(self, rules=evolve(self.rules, packing=packing))


_IN_ORDER = Policy(
    order=Order.FIFO,
    fair_share=False,
    backfill=False,
    hold_depth=0,
    starvation_limit_ms=NEVER_STARVING_MS,
    preemption=False,
    consolidation=False,
    elastic=False,
)


def _whatever_fits(order: Order, *, holds: int = 0) -> Policy:
    """In the given order without regard to teams. A job that does not fit is passed over, and no job is preempted."""
    return Policy(
        order=order,
        fair_share=False,
        hold_depth=holds,
        starvation_limit_ms=NEVER_STARVING_MS,
        preemption=False,
        consolidation=False,
        elastic=False,
    )


def _at_any_time(order: Order) -> Policy:
    """The same for a planner that chooses victims itself: no job is protected because it has just started."""
    return evolve(_whatever_fits(order), min_runtime_ms=0)


_BUILT_IN = (
    NamedPolicy(name="fifo", summary="in the order of submission, nobody overtakes", rules=_IN_ORDER),
    NamedPolicy(
        name="greedy",
        summary="in the order of submission, whatever fits, no promises",
        rules=_whatever_fits(Order.FIFO),
    ),
    NamedPolicy(
        name="easy",
        summary="backfill in front of one promise, for the first job that does not fit",
        rules=_whatever_fits(Order.FIFO, holds=1),
    ),
    NamedPolicy(
        name="sjf-oracle",
        summary="least GPU time first, knowing all durations; nobody has to leave",
        rules=_whatever_fits(Order.SHORTEST),
        knows_durations=True,
    ),
    NamedPolicy(
        name="fair",
        summary="fair share between teams; who runs gives way to other tiers and teams only",
        rules=Policy(turns=False),
    ),
    NamedPolicy(name="muster", summary="the default of the live system", rules=Policy()),
    # Preemption inside a tier by rank, which rules cannot express. Placement and accounting are the same as elsewhere.
    NamedPolicy(
        name="srsf-oracle",
        summary="least GPU time left first, knowing all durations; others of its tier leave for it",
        rules=_at_any_time(Order.SHORTEST),
        knows_durations=True,
        planner=plan_by_rank(ServiceLeft()),
    ),
    NamedPolicy(
        name="las",
        summary="least GPU time received first, without knowing durations; others of its tier leave for it",
        rules=_at_any_time(Order.LEAST_ATTAINED),
        planner=plan_by_rank(AttainedBands()),
    ),
)


def find_policy(name: str) -> NamedPolicy:
    """The policy of this name. Built-in ones cannot be replaced by a plug-in."""
    for policy in _BUILT_IN:
        if policy.name == name:
            return policy
    for plug_in in _plug_ins():
        if plug_in.name == name:
            return _loaded(plug_in)
    raise InvalidInput(f"there is no policy {name!r}; choose from: {', '.join(policy_names())}")


def built_in_policies() -> tuple[NamedPolicy, ...]:
    """The policies that come with Muster."""
    return _BUILT_IN


def policy_names() -> tuple[str, ...]:
    """The names a user can choose: the built-in policies, then the plug-ins by name, whether or not they work."""
    built_in = (policy.name for policy in _BUILT_IN)
    return tuple(dict.fromkeys((*built_in, *(plug_in.name for plug_in in _plug_ins()))))


def hidden_plug_ins(name: str) -> tuple[str, ...]:
    """The origins of plug-ins that have this name but are not the policy that `find_policy` returns."""
    same = [plug_in.value for plug_in in _plug_ins() if plug_in.name == name]
    is_built_in = any(policy.name == name for policy in _BUILT_IN)
    return tuple(same if is_built_in else same[1:])


def _plug_ins() -> tuple[EntryPoint, ...]:
    return tuple(sorted(entry_points(group=PLUG_INS), key=lambda plug_in: (plug_in.name, plug_in.value)))


def _loaded(plug_in: EntryPoint) -> NamedPolicy:
    try:
        policy: object = plug_in.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001  A plug-in may raise anything.
        problem = f"{type(error).__name__}: {error}"
    else:
        if not isinstance(policy, NamedPolicy):
            problem = f"it is a {type(policy).__name__}, not a NamedPolicy"
        elif not (problem := _fault(policy)):
            return replace(policy, name=plug_in.name, planner=policy.planner and _guarded(plug_in.name, policy.planner))
    raise InvalidInput(
        f"the policy {plug_in.name!r} from {plug_in.value} cannot be used: {problem}; repair or remove it"
    )


def _fault(policy: NamedPolicy) -> str:
    """Which field has a wrong type, for an author without a type checker; empty if all are right."""
    fields = (("summary", str), ("rules", Policy), ("knows_durations", bool))
    for field, kind in fields:
        value = getattr(policy, field)
        if not isinstance(value, kind):
            return f"{field} must be of type {kind.__name__}, not {type(value).__name__}"
    planner: object = policy.planner
    return "" if planner is None or callable(planner) else f"planner must be a function, not {type(planner).__name__}"


def _guarded(name: str, planner: Planner) -> Planner:
    """The same planner. Any failure in it is raised as a fault of this policy, with the place in its code."""

    def plan(snapshot: Snapshot, now_ms: int) -> Plan:
        try:
            made: object = planner(snapshot, now_ms)
        except (Exception, SystemExit) as error:  # noqa: BLE001  A plug-in may raise anything.
            where = extract_tb(error.__traceback__)[-1]
            problem = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        else:
            if isinstance(made, Plan):
                return made
            problem = f"its planner returned a {type(made).__name__}, not a Plan"
        raise InvalidInput(f"the policy {name!r} failed: {problem}; repair it, or choose another policy")

    return plan
