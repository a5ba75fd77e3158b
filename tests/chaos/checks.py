"""The judgement: pure functions from the evidence of a trial to the promises that were broken in it."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

from muster.model.limits import FAILED_GANG_GRACE_MS
from muster.model.node_limits import ABSENCE_MARGIN_MS, CONTROL_SILENCE_MS
from tests.chaos.evidence import FINAL, Answer, Asked, Evidence, Struck, Violation, overlap_s
from tests.chaos.ledger import Run

Check = Callable[[Evidence], Iterator[Violation]]

TICK_S = 0.011
"""The kernel gives start times in hundredths of a second."""
ABSENCE_S = ABSENCE_MARGIN_MS / 1000
HANG_S = CONTROL_SILENCE_MS / 1000
"""How much later a supervisor may act when the control plane is not dead but hangs."""
LOAD_S = 3.0
"""What a busy machine may add to any time."""
STARTED_S = 1.0
"""How long after a job is to start its process may be there: a limit counts from the first."""
PIPE_S = 1.0
"""Output that was printed this long before its supervisor was struck must be there."""
REPLACED_S = 8.0
"""A supervisor that hangs for longer may be taken for lost."""
LINE = re.compile(r"^line (\d+) of ")
HOLDS_UP = ("control-kill", "control-stop", "supervisor-stop", "database-kill", "database-stop", "disk-full")
"""Faults that may come between the moment at which a job is to start and its start."""
DISTURBS_OUTPUT = ("disk-full",)


def judge(evidence: Evidence) -> list[Violation]:
    """Everything that was broken, each once."""
    found = [*evidence.found, *(violation for check in CHECKS for violation in check(evidence))]
    return list(dict.fromkeys(found))


def nothing_clashed(evidence: Evidence) -> Iterator[Violation]:
    """No worker found claimed what it was given: the kernel said so at that moment, so this is exact."""
    rules = {"rank": "same-attempt-twice", "attempt": "two-attempts-at-once", "gpu": "gpu-given-twice"}
    owners = {run.pid: run.name for run in evidence.runs}
    for line in evidence.clashes:
        held = line.details.get("held_by")
        other = owners.get(held[0], f"process {held[0]}") if held else "a process that has just ended"
        which = f" GPU {line.details['gpu']} of {line.node}" if line.details["over"] == "gpu" else ""
        yield Violation(
            rule=rules[line.details["over"]],
            told=f"{line.label} ({line.job}) attempt {line.attempt} rank {line.rank} found{which} held by {other}",
        )


def attempts_follow_one_another(evidence: Evidence) -> Iterator[Violation]:
    """No process of an attempt was made while one of another attempt still wrote: by the times of kernel and ledger."""
    by_label: dict[str, list[Run]] = {}
    for run in evidence.runs:
        by_label.setdefault(run.label, []).append(run)
    for runs in by_label.values():
        for one, other in combinations(sorted(runs, key=lambda run: run.started_s), 2):
            overlap = one.alive_s - other.started_s - TICK_S
            if overlap > 0 and (one.attempt != other.attempt or one.rank == other.rank):
                yield Violation(
                    rule="two-attempts-at-once", told=f"{one.name} and {other.name} lived together for {overlap:.3f} s"
                )


def gpus_have_one_owner(evidence: Evidence) -> Iterator[Violation]:
    """No process with a GPU was made while another one that had it still wrote: by the times of kernel and ledger."""
    by_gpu: dict[tuple[str, int], list[Run]] = {}
    for run in evidence.runs:
        for gpu in run.gpus:
            by_gpu.setdefault((run.node, gpu), []).append(run)
    for (node, gpu), runs in by_gpu.items():
        for one, other in combinations(sorted(runs, key=lambda run: run.started_s), 2):
            overlap = one.alive_s - other.started_s - TICK_S
            if overlap > 0:
                yield Violation(
                    rule="gpu-given-twice",
                    told=f"GPU {gpu} of {node}: {one.name} and {other.name} for {overlap:.3f} s",
                )


def nothing_is_lost(evidence: Evidence) -> Iterator[Violation]:
    """Every job that was acknowledged is known under its id, with its name, and has ended."""
    for asked in evidence.asked:
        if not asked.id or evidence.may_be_gone(asked):
            continue
        for label in asked.labels:
            answer = evidence.answers.get(label)
            if answer is None:
                yield Violation(rule="lost", told=f"{label} was acknowledged as {asked.id}, and nobody knows it")
            elif len(asked.labels) == 1 and answer.id != asked.id:
                yield Violation(rule="lost", told=f"{label} was acknowledged as {asked.id}, and is {answer.id} now")
            elif answer.state not in FINAL:
                yield Violation(rule="never-ended", told=f"{label} ({answer.id}) is still {answer.state}")


def ends_are_true(evidence: Evidence) -> Iterator[Violation]:
    """How a job ended, as the server says it, is what its workers wrote down."""
    attempts = evidence.runs_by_attempt()
    for asked, label, answer in _ended(evidence):
        last = max((attempt for name, attempt in attempts if name == label), default=0)
        # Where history was taken back an attempt may have been run twice, and the later one counts.
        by_rank = {run.rank: run for run in sorted(attempts.get((label, last), []), key=lambda run: run.started_s)}
        problem = _problem(evidence, asked, label, answer, list(by_rank.values()))
        if problem:
            yield Violation(rule=f"false-{answer.state}", told=f"{label} ({answer.id}) is {answer.state}: {problem}")


def _ended(evidence: Evidence) -> Iterator[tuple[Asked, str, Answer]]:
    for asked in evidence.asked:
        for label in asked.labels:
            answer = evidence.answers.get(label)
            if asked.id and answer is not None and answer.state in FINAL and not evidence.may_be_gone(asked):
                yield asked, label, answer


def _problem(evidence: Evidence, asked: Asked, label: str, answer: Answer, runs: list[Run]) -> str:
    """What does not fit; empty when all does."""
    is_done = _is_done(asked, runs)
    match answer.state:
        case "succeeded":
            return "" if is_done else f"its last attempt did not end well: {_codes(runs)}"
        case "cancelled":
            return "" if asked.cancel_asked_s is not None else "nobody asked for it"
        case "timed_out":
            return _untimely(evidence, asked, runs)
        case _ if is_done and not evidence.was_hit(label):
            return f"all of its last attempt ended well: {_codes(runs)}"
        case _ if asked.ends == "failed" or evidence.was_hit(label):
            return ""
        case _ if asked.cancel_asked_s is not None:
            return ""
        case _:
            return f"it must have {asked.ends}; reason {answer.reason or 'none'}, {_codes(runs)}"


def _is_done(asked: Asked | None, runs: list[Run]) -> bool:
    """True when every rank of an attempt wrote down that it ended well. Ranks that left an elastic job do not count."""
    is_elastic = asked is not None and asked.is_elastic
    stayed = [run for run in runs if not (is_elastic and run.code == 143)]
    return bool(stayed) and all(run.code == 0 for run in stayed) and (is_elastic or len(stayed) >= runs[0].world)


def _untimely(evidence: Evidence, asked: Asked, runs: list[Run]) -> str:
    """Why a job cannot have run out of time; its limit counts from when it was to start, which faults may delay."""
    if asked.limit_s is None:
        return "it has no limit that could have passed"
    # It is told to leave early enough to be gone by then.
    least_s = asked.limit_s - min(asked.grace_s, asked.limit_s / 2) - STARTED_S
    held_up = [(struck.from_s, struck.until_s) for struck in evidence.struck if struck.kind in HOLDS_UP]
    if not runs:
        is_excused = any(until_s - from_s >= least_s for from_s, until_s in held_up)
        return "" if is_excused else "it never ran"
    from_s = min(run.started_s for run in runs)
    until_s = max(_known_s(held_up, run.gone_s) for run in runs)
    delayed_s = overlap_s(held_up, from_s - asked.limit_s, from_s)
    is_timely = until_s - from_s + delayed_s >= least_s
    return "" if is_timely else f"it had run for {until_s - from_s:.1f} s of {asked.limit_s:g} s"


def _known_s(held_up: list[tuple[float, float]], gone_s: float) -> float:
    """When the control plane can have heard of an end: after all faults that follow on one another around it."""
    known_s = gone_s
    for from_s, until_s in sorted(held_up):
        if from_s <= known_s <= until_s:
            known_s = until_s
    return known_s


def _codes(runs: list[Run]) -> str:
    written = ", ".join(f"rank {run.rank} {'wrote no end' if run.code is None else run.code}" for run in runs)
    return written or "it never ran"


def what_has_ended_stays_ended(evidence: Evidence) -> Iterator[Violation]:
    """A run that finished is not run again, and nothing starts after the server said that it had ended."""
    rewritten = {label for asked in evidence.asked if evidence.is_rewritten(asked) for label in asked.labels}
    by_label = {label: asked for asked in evidence.asked for label in asked.labels}
    for (label, attempt), runs in evidence.runs_by_attempt().items():
        if label in rewritten:
            continue
        later = [run for run in evidence.runs if run.label == label and run.attempt > attempt]
        if later and _is_done(by_label.get(label), runs) and not evidence.was_hit(label):
            yield Violation(rule="run-again", told=f"{label} had ended well in attempt {attempt}; {later[0].name}")
        ended_s, state = evidence.ended.get(label, (float("inf"), ""))
        for run in runs:
            if run.started_s > ended_s + TICK_S:
                yield Violation(rule="run-again", told=f"the server said {state}, and then came {run.name}")


def nothing_is_taken_back(evidence: Evidence) -> Iterator[Violation]:
    """A job that the server said had ended is not said to go on.

    A reader may see a change a moment before it is durable, so what was seen while nothing could be written is excused.
    """
    windows = [
        (struck.from_s - LOAD_S, struck.until_s + LOAD_S)
        for struck in evidence.struck
        if struck.kind.startswith(("database-", "backend-", "disk-"))
    ]
    rewritten = {label for asked in evidence.asked if evidence.is_rewritten(asked) for label in asked.labels}
    for label, ended_s, state in evidence.reopened:
        if label not in rewritten and not any(from_s <= ended_s <= until_s for from_s, until_s in windows):
            yield Violation(rule="ended-again", told=f"{label} had ended, and then was {state}")


def retries_are_counted(evidence: Evidence) -> Iterator[Violation]:
    """A job that fails by itself runs as often as it asked for; attempts that faults ended do not count.

    A failure that comes while the supervisor of its node is dead is taken for the node's, and costs no retry.
    """
    for asked, label, answer in _ended(evidence):
        if asked.ends != "failed" or answer.state != "failed" or evidence.is_rewritten(asked):
            continue
        failures = sum(run.label == label and run.code not in (None, 0, 143) for run in evidence.runs)
        due, excused = 2 if asked.label == "retried" else 1, evidence.faults_upon(label)
        if failures > due + excused or (failures < due and not evidence.was_hit(label)):
            yield Violation(rule="retries", told=f"{label} failed {failures} times by itself, and {due} were due")


def output_is_whole(evidence: Evidence) -> Iterator[Violation]:
    """What the server shows of a worker's output begins with its first line and has no gap.

    All of it is there when its supervisor was not struck; else what was printed a while before that.
    """
    if any(struck.kind in DISTURBS_OUTPUT for struck in evidence.struck):
        return
    rewritten = {label for asked in evidence.asked if evidence.is_rewritten(asked) for label in asked.labels}
    for run in evidence.runs:
        text = evidence.logs.get(run.key)
        # What ran for another home has left its output there.
        is_elsewhere = any(struck.kind == "take-over" and run.started_s < struck.until_s for struck in evidence.struck)
        if text is None or run.label in rewritten or is_elsewhere:
            continue
        numbers = [int(found[1]) for line in text.splitlines() if (found := LINE.match(line))]
        if numbers != list(range(len(numbers))):
            yield Violation(rule="output-gap", told=f"{run.name}: lines {numbers[:5]}…{numbers[-5:]}")
        elif len(numbers) < (expected := _lines_due(evidence, run)):
            yield Violation(rule="output-lost", told=f"{run.name}: {len(numbers)} lines are shown of {expected}")


def _lines_due(evidence: Evidence, run: Run) -> int:
    """How many lines must be shown."""
    costly = [each for each in evidence.struck if each.until_s >= run.started_s and _costs_output(each, run.node)]
    until_s = min((_unread_s(evidence, each, run.node) for each in costly), default=float("inf")) - PIPE_S
    return max((printed for at_s, printed in run.prints if at_s < until_s), default=0)


def _unread_s(evidence: Evidence, struck: Struck, node: str) -> float:
    """From when on no process read what was printed: since the fault, or since the supervisor hung before that."""
    stops = [each for each in evidence.struck if each.kind == "supervisor-stop" and node in each.nodes]
    return min((each.from_s for each in stops if each.from_s <= struck.from_s <= each.until_s), default=struck.from_s)


def _costs_output(struck: Struck, node: str) -> bool:
    """True when the supervisor of a node has died of it, or hung for so long that it may have been replaced."""
    if struck.kind == "down-jobs":
        return True
    is_long = struck.until_s - struck.from_s > REPLACED_S
    return node in struck.nodes and (struck.kind == "supervisor-kill" or is_long)


def limits_hold(evidence: Evidence) -> Iterator[Violation]:
    """No job runs much longer than its limit, also when the control plane is dead or hangs or the clock is set."""
    limits = {label: asked.limit_s for asked in evidence.asked for label in asked.labels if asked.limit_s is not None}
    for run in evidence.runs:
        limit_s = limits.get(run.label)
        if limit_s is None:
            continue
        ran_s = run.gone_s - run.started_s
        alone_s = overlap_s(evidence.unattended.get(run.node, ()), run.started_s, run.gone_s)
        allowed_s = limit_s + ABSENCE_S + HANG_S + LOAD_S + alone_s
        if ran_s > allowed_s:
            told = f"{run.name} ran for {ran_s:.1f} s with a limit of {limit_s:g} s; {allowed_s:.1f} s are allowed"
            yield Violation(rule="limit-overrun", told=told)


def grace_periods_hold(evidence: Evidence) -> Iterator[Violation]:
    """A cancelled job is gone after its grace period, not counting faults of the processes that could tell it."""
    for asked in evidence.asked:
        if asked.cancel_acked_s is None or evidence.is_rewritten(asked):
            continue
        for run in evidence.runs:
            if run.label not in asked.labels or run.gone_s <= asked.cancel_acked_s:
                continue
            took_s = run.gone_s - asked.cancel_acked_s
            excused_s = _faults_s(evidence, run.node, asked.cancel_acked_s, run.gone_s)
            allowed_s = asked.grace_s + ABSENCE_S + LOAD_S + excused_s
            if took_s > allowed_s:
                told = f"{run.name} went {took_s:.1f} s after its cancel; {allowed_s:.1f} s are allowed"
                yield Violation(rule="grace-overrun", told=told)


def partial_gangs_are_short(evidence: Evidence) -> Iterator[Violation]:
    """When part of a gang is dead the rest follows soon."""
    for name, runs, partial_s in partial_gangs(evidence):
        from_s = min(run.gone_s for run in runs)
        nodes = [run.node for run in runs]
        excused_s = max(_faults_s(evidence, node, from_s, from_s + partial_s) for node in nodes)
        allowed_s = FAILED_GANG_GRACE_MS / 1000 + ABSENCE_S + HANG_S + LOAD_S + excused_s
        if partial_s > allowed_s:
            told = f"{name} was in parts for {partial_s:.1f} s; {allowed_s:.1f} s are allowed"
            yield Violation(rule="partial-gang", told=told)


def partial_gangs(evidence: Evidence) -> Iterator[tuple[str, list[Run], float]]:
    """Gangs of which some ranks were dead before their end while others lived: name, processes, for how long."""
    for (label, attempt), runs in evidence.runs_by_attempt().items():
        if len(runs) > 1 and any(run.code != 0 for run in runs) and runs[0].world == len(runs):
            ends = sorted(run.gone_s for run in runs)
            yield f"{label} attempt {attempt}", runs, ends[-1] - ends[0]


def _faults_s(evidence: Evidence, node: str, from_s: float, until_s: float) -> float:
    """How much of a time a process was struck that a stop has to pass."""
    windows = [
        (struck.from_s, struck.until_s + LOAD_S) for struck in evidence.struck if not struck.kind.startswith("worker-")
    ]
    return overlap_s([*windows, *evidence.unattended.get(node, ())], from_s, until_s)


CHECKS: tuple[Check, ...] = (
    nothing_clashed,
    attempts_follow_one_another,
    gpus_have_one_owner,
    nothing_is_lost,
    ends_are_true,
    what_has_ended_stays_ended,
    nothing_is_taken_back,
    retries_are_counted,
    output_is_whole,
    limits_hold,
    grace_periods_hold,
    partial_gangs_are_short,
)


def rules_of(violations: Iterable[Violation]) -> dict[str, int]:
    """How often each promise was broken."""
    counted: dict[str, int] = {}
    for violation in violations:
        counted[violation.rule] = counted.get(violation.rule, 0) + 1
    return counted
