"""Ten thousand random conditions: each is refused with a reason or judged, and none crashes or stalls what judges."""

import random
from collections.abc import Callable, Iterator

import pytest

from muster.api.admission.judges import Judges
from muster.formats.admission.expressions import BadExpression, check_expression
from muster.formats.admission.judging import AskedJob
from muster.model.policy import AdmissionRule, OnError

EXPRESSIONS = 10_000
TOGETHER = 100
SEED = 19

LEAVES = (
    *("job", "user", "team", "now", "true", "false", "null", "0", "1", "-1", "2u", "9223372036854775807", "1.5"),
    *("1e308", "''", "'a'", '"b"', "b'c'", "r'\\d'", "[]", "{}", "[1, 2, 3]", "{'a': 1}", "'(a+)+$'", "'é\\u0000'"),
    *("job.name", "job.env", "job.tags.project", "job.resources.gpus", "job.mounts", "job.run", "job.roles"),
    *("timestamp('2026-01-01T00:00:00Z')", "duration('1h')", "type(1)", "int", "string", "x", "jb", "job.tire"),
)
UNSOUND = 3
"""The last of them are none."""
BINARY = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in")
METHODS = ("startsWith", "endsWith", "contains", "matches", "getHours", "getDayOfWeek", "size")
FUNCTIONS = (
    "size",
    "has",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "dyn",
    "type",
    "timestamp",
    "duration",
    "seconds",
)
MORE_FUNCTIONS = ("memory", "gpus", "matches")
MACROS = ("all", "exists", "exists_one", "filter", "map")
NOISE = "()[]{}.,?:!&|=<>+-*/%'\"\\ \t\n\0abjx019é字\U0001f4a5"


def _drawn(draw: random.Random, depth: int) -> str:
    """An expression that is often one of CEL."""
    if depth <= 0:
        # Without a declared type nearly everything is sound, and has to be judged.
        leaf = draw.choice(LEAVES if draw.random() < 0.05 else LEAVES[:-UNSOUND])
        return leaf if draw.random() < 0.1 else f"dyn({leaf})"

    def part() -> str:
        return _drawn(draw, depth - draw.randint(1, 2))

    forms: tuple[Callable[[], str], ...] = (
        lambda: f"({part()} {draw.choice(BINARY)} {part()})",
        lambda: f"({part()} {draw.choice(BINARY)} {part()})",
        lambda: f"!{part()}",
        lambda: f"-{part()}",
        lambda: f"({part()} ? {part()} : {part()})",
        lambda: f"{part()}.{draw.choice(METHODS)}({part()})",
        lambda: f"{draw.choice((*FUNCTIONS, *MORE_FUNCTIONS))}({part()})",
        lambda: f"{part()}.{draw.choice(MACROS)}(x, {part()})",
        lambda: f"{part()}[{part()}]",
        lambda: f"[{part()}, {part()}]",
        lambda: f"{{{part()}: {part()}}}",
        lambda: f"has({part()}.a)",
        lambda: f"dyn({part()})",
        lambda: f"dyn({part()})",
    )
    return draw.choice(forms)()


def _spoilt(draw: random.Random, text: str) -> str:
    """The text with some of its characters dropped, doubled or replaced."""
    characters = list(text)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(characters) + 1)
        characters[place : place + draw.randint(0, 2)] = draw.choice(NOISE) * draw.choice((0, 1, 1, 40))
    return "".join(characters)


def _expressions() -> Iterator[str]:
    draw = random.Random(SEED)
    for number in range(EXPRESSIONS):
        text = _drawn(draw, draw.randint(1, 7))
        if number % 4 == 0:
            text = _spoilt(draw, text)
        elif number % 50 == 1:
            text = "".join(draw.choice(NOISE) for _ in range(draw.randint(0, 3000)))
        elif number % 50 == 2:
            text = draw.choice(("(", "[", "!", "-", "{1:", "job.", "x?x:")) * draw.randint(1, 1500)
        yield text if number % 8 == 0 else f"dyn({text}) == dyn(true)"


def _is_sound(text: str) -> bool:
    try:
        check_expression(text)
    except BadExpression:
        return False
    return True


@pytest.fixture
def judges() -> Iterator[Judges]:
    made = Judges(count=1, limit_ms=20_000)
    yield made
    made.close()


def test_ten_thousand_conditions_neither_crash_nor_stall(judges: Judges) -> None:
    job = {
        "name": "train",
        "run": "python train.py " + "a" * 3_000,
        "env": {f"K{number}": "v" * 20 for number in range(300)},
        "tags": {"project": "atlas"},
        "resources": {"gpus": 8},
        "mounts": [{"from": f"/{number}", "to": f"/{number}"} for number in range(60)],
    }
    asked = AskedJob(given=job, view=job, user="ada", team="nlp/pre", now_ms=1_767_225_600_000)
    sound = [text for text in _expressions() if _is_sound(text)]
    assert EXPRESSIONS // 10 < len(sound) < EXPRESSIONS  # both outcomes are tried
    told = set()
    for some in batched_texts(sound):
        rules = tuple(
            AdmissionRule(name=f"r{place}", when=text, warn="holds", on_error=OnError.ALLOW)
            for place, text in enumerate(some)
        )
        found = judges.judge(rules, asked)
        assert found.denial is None
        broken = [
            effect.message for effect in found.effects if "process" in effect.message or "longer" in effect.message
        ]
        assert broken == []
        told |= {effect.message for effect in found.effects}
    assert "holds" in told
    assert any("could not be judged" in message for message in told)


def batched_texts(texts: list[str]) -> Iterator[list[str]]:
    """So many at a time."""
    for begin in range(0, len(texts), TOGETHER):
        yield texts[begin : begin + TOGETHER]
