"""The rules asked in their order, on threads that wait for processes; never on the writer's thread or the event loop.

A condition or a plug-in that breaks its process, or takes too long, counts as a rule that could not be judged: the job
is refused, or goes on with a warning, as the rule says.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore

from muster.api.admission import messages
from muster.api.admission.judge_process import JudgeBroken, JudgeProcess
from muster.formats.admission.judging import AskedJob, Denial, Judgement, changed, not_judged
from muster.formats.admission.merging import replaced
from muster.formats.admission.values import values_text
from muster.formats.text.units import BadValue
from muster.model.client_limits import ADMISSION_JUDGED_MS, ADMISSION_JUDGES, ADMISSION_PLUGIN_CALLS, ADMISSION_RESTARTS
from muster.model.policy import AdmissionRule, EffectKind, RuleEffect
from muster.model.records import evolve

Rules = tuple[AdmissionRule, ...]
AfterPlugin = tuple[AskedJob, list[RuleEffect] | Denial]
Started = Callable[[str], JudgeProcess]


class JudgePool:
    """Some processes of one kind. They are started when they are needed, and kept."""

    def __init__(self, count: int, start: Callable[[], JudgeProcess]) -> None:
        self._start = start
        self._places = BoundedSemaphore(count)
        self._idle: SimpleQueue[JudgeProcess] = SimpleQueue()

    @contextmanager
    def one(self) -> Iterator[JudgeProcess]:
        """A process for one question. One that broke is not used again."""
        with self._places:
            try:
                process = self._idle.get_nowait()
            except Empty:
                process = self._start()
            yield process
            self._idle.put(process)

    def close(self) -> None:
        """End those that are idle."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait().end()


class Judges:
    """Judges jobs by rules."""

    def __init__(
        self, *, count: int = ADMISSION_JUDGES, start: Started = JudgeProcess, limit_ms: int = ADMISSION_JUDGED_MS
    ) -> None:
        self._start, self._limit_ms = start, limit_ms
        self._conditions = JudgePool(count, lambda: start(""))
        self._plugins: dict[str, JudgePool] = {}
        self._threads = ThreadPoolExecutor(count + ADMISSION_PLUGIN_CALLS, thread_name_prefix="admission")

    async def judged(self, rules: Rules, asked: AskedJob) -> Judgement:
        """What the rules say of a job."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.judge, rules, asked)

    def judge(self, rules: Rules, asked: AskedJob) -> Judgement:
        """The same, on this thread."""
        found = self._by_conditions(rules, asked, 0)
        effects = list(found.effects)
        while found.denial is None and (place := found.plugin) is not None:
            asked, outcome = self._by_plugin(rules[place], _after(asked, found))
            if isinstance(outcome, Denial):
                found = Judgement(given=asked.given, view=asked.view, denial=outcome)
            else:
                effects += outcome
                found = self._by_conditions(rules, asked, place + 1)
                effects += found.effects
        return Judgement(given=found.given, view=found.view, denial=found.denial, effects=effects)

    def close(self) -> None:
        """End all processes."""
        self._conditions.close()
        for pool in self._plugins.values():
            pool.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _by_conditions(self, rules: Rules, asked: AskedJob, first: int) -> Judgement:
        """Ask all rules up to the next plug-in. A rule that breaks the process is asked no second time."""
        skipped: list[int] = []
        passed: list[RuleEffect] = []
        while True:
            try:
                found = self._asked(rules, messages.JudgeQuestion(asked=asked, first=first, skipped=skipped))
            except _BrokenAt as broken:
                rule = rules[broken.place]
                outcome = not_judged(rule, broken.why)
                if len(skipped) >= ADMISSION_RESTARTS:
                    outcome = Denial(rule=rule.name, message=f"could not be judged: {broken.why}")
                if isinstance(outcome, Denial):
                    return Judgement(given=asked.given, view=asked.view, denial=outcome, effects=passed)
                passed.append(outcome)
                skipped.append(broken.place)
            else:
                return Judgement(
                    given=found.given,
                    view=found.view,
                    denial=found.denial,
                    effects=[*passed, *found.effects],
                    plugin=found.plugin,
                )

    def _asked(self, rules: Rules, question: messages.JudgeQuestion) -> Judgement:
        try:
            with self._conditions.one() as process:
                is_known = process.rules is rules
                process.rules = rules
                told = question if is_known else _with_rules(question, rules)
                # Compiling takes longer than judging, and happens once.
                limit_ms = self._limit_ms if is_known else self._limit_ms + 100 * len(rules)
                try:
                    return messages.judgement(process.ask(messages.encoded(told), limit_ms))
                except JudgeBroken as error:
                    raise _BrokenAt(max(process.place, question.first), str(error)) from None
        except JudgeBroken as error:
            raise _BrokenAt(question.first, f"no process could be started: {error}") from None

    def _pool_of(self, plugin: str) -> JudgePool:
        return self._plugins.setdefault(plugin, JudgePool(ADMISSION_PLUGIN_CALLS, lambda: self._start(plugin)))

    def _by_plugin(self, rule: AdmissionRule, asked: AskedJob) -> AfterPlugin:
        """The job after a plug-in, and what that said."""
        pool = self._pool_of(rule.plugin)
        question = messages.PluginQuestion(view=asked.view, user=asked.user, team=asked.team, now_ms=asked.now_ms)
        try:
            with pool.one() as process:
                said = messages.plugin_answer(process.ask(messages.encoded(question), rule.time_limit_ms))
        except JudgeBroken as error:
            said = messages.PluginAnswer(problem=str(error))
        return _taken(rule, asked, said)


class _BrokenAt(Exception):
    """The process broke at a rule."""

    def __init__(self, place: int, why: str) -> None:
        super().__init__(why)
        self.place, self.why = place, why


def _with_rules(question: messages.JudgeQuestion, rules: Rules) -> messages.JudgeQuestion:
    return messages.JudgeQuestion(asked=question.asked, rules=rules, first=question.first, skipped=question.skipped)


def _after(asked: AskedJob, found: Judgement) -> AskedJob:
    return AskedJob(given=found.given, view=found.view, user=asked.user, team=asked.team, now_ms=asked.now_ms)


def _taken(rule: AdmissionRule, asked: AskedJob, said: messages.PluginAnswer) -> AfterPlugin:
    problem = said.problem
    values = ""
    if said.values and not problem:
        try:
            values = values_text(said.values)
        except BadValue as error:
            problem = f"set {error.problem}"
        else:
            problem = _beyond(said.values)
    if problem:
        outcome = not_judged(rule, problem)
        return asked, outcome if isinstance(outcome, Denial) else [outcome]
    if said.deny:
        return asked, Denial(rule=rule.name, message=said.deny)
    effects = [RuleEffect(rule=rule.name, kind=EffectKind.WARN, message=said.warn)] if said.warn else []
    if values:
        given, keys = changed(asked.given, evolve(rule, values=values))
        if keys:
            effects.append(RuleEffect(rule=rule.name, kind=EffectKind.SET, keys=keys))
            view = replaced(asked.view, {key: given[key] for key in _tops(keys)})
            asked = AskedJob(given=given, view=view, user=asked.user, team=asked.team, now_ms=asked.now_ms)
    return asked, effects


def _tops(keys: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(key.partition(".")[0] for key in keys))


def _beyond(values: object) -> str:
    from muster.formats.admission.rules import OUT_OF_REACH  # noqa: PLC0415

    reached = [key for key in OUT_OF_REACH if isinstance(values, dict) and key in values]
    return f"it set {', '.join(reached)}, which no rule can set" if reached else ""
