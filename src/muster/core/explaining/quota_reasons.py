"""Why quota keeps a job waiting: limits that it would break, and a guarantee that does not cover it."""

from muster.core.cluster.gang import Demand, Gang
from muster.core.order.queueing import JobClass
from muster.core.order.quota import Breach, Ledger
from muster.model.ids import TeamPath
from muster.model.plan import Reason, ReasonCode
from muster.model.resources import GPU_MILLI, gpus_text, typed_gpus_text
from muster.model.team import ANY_TYPE

_ON_LOAN = "so it runs only on what others leave idle"


def quota_reasons(group: JobClass, gang: Gang, ledger: Ledger) -> tuple[Reason, ...]:
    """Limits that stop the class on every type that would do, or borrowing when no guarantee of its team covers it.

    `gang` is that of the class, with the choices that could run here at all.
    """
    choices = gang.choices
    broken = [list(ledger.breaches(group.account, choice.demand)) for choice in choices]
    if choices and all(broken):
        return tuple(dict.fromkeys(_limit_reason(breach) for breaches in broken for breach in breaches))
    wanted = next((choice.demand for choice in choices if choice.demand), ())
    guaranteed = ledger.guaranteed_above(group.team)
    if not wanted or any(ledger.within_guarantee(team, choice.demand) for team in guaranteed for choice in choices):
        return ()
    if guaranteed:
        return (_borrow_reason(guaranteed[0], wanted, ledger),)
    nothing = f"team {group.team} is guaranteed nothing"
    return (_borrowed(group.team, nothing, "a guarantee for the team"),) if ledger.guarantees_anything else ()


def _limit_reason(breach: Breach) -> Reason:
    kind = "GPUs" if breach.gpu_type == ANY_TYPE else f"{breach.gpu_type} GPUs"
    used, limit = gpus_text(breach.used_milli), gpus_text(breach.limit_milli)
    wanted = gpus_text(breach.wanted_milli)
    missing = gpus_text(breach.used_milli + breach.wanted_milli - breach.limit_milli)
    return Reason(
        code=breach.code,
        message=f"team {breach.team} uses {used} of at most {limit} {kind}; this job needs {wanted}",
        would_help=f"{missing} {kind if missing != '1' else kind.removesuffix('s')} of the team coming free, or a "
        "higher limit",
        about=(breach.team, breach.gpu_type),
    )


def _borrow_reason(team: TeamPath, demand: Demand, ledger: Ledger) -> Reason:
    """Which part of the guarantee is missing. The innermost guarantee is told, because jobs are told of their team."""
    guaranteed = dict(ledger.teams[team].guaranteed)
    covered = (*guaranteed, ANY_TYPE)
    uncovered = [each for each, _ in demand if each not in covered and ANY_TYPE not in guaranteed]
    exceeded = [
        (gpu_type, milli)
        for gpu_type, milli in demand
        if ledger.used_milli(team, gpu_type) + milli > guaranteed.get(gpu_type, 1 << 60)
    ]
    if uncovered and not exceeded:
        kinds = ", ".join(str(each) or "GPU" for each in uncovered)
        return _borrowed(team, f"team {team} is guaranteed no {kinds}", "a guarantee for this type")
    gpu_type, wanted_milli = exceeded[0]
    own_milli, used_milli = guaranteed[gpu_type], ledger.used_milli(team, gpu_type)
    has = typed_gpus_text(own_milli, gpu_type)
    if wanted_milli > own_milli:
        wants = typed_gpus_text(wanted_milli, gpu_type)
        message = f"this job alone needs {wants} and team {team} is guaranteed {gpus_text(own_milli)}"
        return _borrowed(team, message, "a larger guarantee, or a smaller job")
    if used_milli >= own_milli:
        message = f"jobs of team {team} use all of the {has} that it is guaranteed"
    else:
        verb = "is" if used_milli == GPU_MILLI else "are"
        message = (
            f"of the {has} that team {team} is guaranteed, {gpus_text(used_milli)} {verb} used by its jobs, and this "
            f"one needs {gpus_text(wanted_milli)}"
        )
    return _borrowed(team, message, "the team's own jobs ending, or a larger guarantee")


def _borrowed(team: TeamPath, message: str, would_help: str) -> Reason:
    return Reason(code=ReasonCode.QUOTA_BORROW, message=f"{message}, {_ON_LOAN}", would_help=would_help, about=(team,))
