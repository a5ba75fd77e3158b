"""Which nodes a job accepts, by their labels: `a100 & (ib | roce) & !flaky`.

`!` binds closer than `&`, and `&` closer than `|`. A comma means `&`, as it does for Slurm. Slurm's forms that choose
among sets of nodes, `[rack1|rack2]` and `ib*4`, are refused: `topology` says what they are used for.
"""

import re
from collections.abc import Iterator
from typing import assert_never

from muster.model.records import Record

CONSTRAINT_CHARS = 1000
"""The longest constraint. People write a few words; what a program makes up beyond this is better made labels."""
CONSTRAINT_DEPTH = 20
"""How deeply parentheses and negations may be nested, so that no constraint exhausts the stack."""
LABEL_CHARS = 63
"""The longest label, as of a name in Kubernetes."""

_LABEL = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.:=/@+-]{{0,{LABEL_CHARS - 1}}}")
_WORDS = re.compile(r"\s*(&&?|\|\|?|[,!()]|[^\s&|,!()]+)")


class BadConstraint(ValueError):
    """A constraint that cannot be read."""

    def __init__(self, problem: str, hint: str = "") -> None:
        """Say what is wrong and what to write instead."""
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


class HasLabel(Record, frozen=True, kw_only=True):
    """The node has the label."""

    label: str


class Lacks(Record, frozen=True, kw_only=True):
    """The node does not satisfy the term."""

    term: "Term"


class AllOf(Record, frozen=True, kw_only=True):
    """The node satisfies every term."""

    terms: tuple["Term", ...]


class AnyOf(Record, frozen=True, kw_only=True):
    """The node satisfies one of the terms at least."""

    terms: tuple["Term", ...]


Term = HasLabel | Lacks | AllOf | AnyOf


def is_label(text: str) -> bool:
    """True for a word that may be a label: letters, digits and a few signs that mean nothing in a constraint."""
    return _LABEL.fullmatch(text) is not None


def parse_constraint(text: str) -> Term:
    """The constraint as a value."""
    if len(text) > CONSTRAINT_CHARS:
        raise BadConstraint(f"is longer than {CONSTRAINT_CHARS} characters", "give such nodes a label of their own")
    words = [match[1] for match in _WORDS.finditer(text.rstrip())]
    parser = _Parser(words)
    term = parser.any_of(0)
    if parser.word is not None:
        raise BadConstraint(f"{parser.word!r} has no meaning here", "join labels with & or |")
    return term


def satisfies(labels: tuple[str, ...], term: Term) -> bool:
    """True when a node with these labels is one that the constraint accepts."""
    match term:
        case HasLabel(label=label):
            return label in labels
        case Lacks(term=inner):
            return not satisfies(labels, inner)
        case AllOf(terms=terms):
            return all(satisfies(labels, each) for each in terms)
        case AnyOf(terms=terms):
            return any(satisfies(labels, each) for each in terms)
        case _:
            assert_never(term)


def labels_named(term: Term) -> Iterator[str]:
    """Every label that the constraint names, in order; some perhaps twice."""
    match term:
        case HasLabel(label=label):
            yield label
        case Lacks(term=inner):
            yield from labels_named(inner)
        case AllOf(terms=terms) | AnyOf(terms=terms):
            for each in terms:
                yield from labels_named(each)
        case _:
            assert_never(term)


def constraint_text(term: Term) -> str:
    """The constraint as it is kept and shown, with no more parentheses than it needs."""
    match term:
        case HasLabel(label=label):
            return label
        case Lacks(term=inner):
            is_joined = isinstance(inner, AllOf | AnyOf)
            return f"!({constraint_text(inner)})" if is_joined else f"!{constraint_text(inner)}"
        case AllOf(terms=terms):
            texts = [(constraint_text(each), isinstance(each, AnyOf | AllOf)) for each in terms]
            return " & ".join(f"({text})" if is_joined else text for text, is_joined in texts)
        case AnyOf(terms=terms):
            return " | ".join(constraint_text(each) for each in terms)
        case _:
            assert_never(term)


class _Parser:
    """Reads one constraint from left to right."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._at = 0

    @property
    def word(self) -> str | None:
        """The next word; None at the end."""
        return self._words[self._at] if self._at < len(self._words) else None

    def any_of(self, depth: int) -> Term:
        """Terms that are joined by `|`."""
        terms = [self._all_of(depth)]
        while self.word in ("|", "||"):
            self._at += 1
            terms.append(self._all_of(depth))
        return terms[0] if len(terms) == 1 else AnyOf(terms=tuple(terms))

    def _all_of(self, depth: int) -> Term:
        terms = [self._one(depth)]
        while self.word in ("&", "&&", ","):
            self._at += 1
            terms.append(self._one(depth))
        return terms[0] if len(terms) == 1 else AllOf(terms=tuple(terms))

    def _one(self, depth: int) -> Term:
        if depth > CONSTRAINT_DEPTH:
            raise BadConstraint(f"is nested more than {CONSTRAINT_DEPTH} deep")
        word = self.word
        self._at += 1
        match word:
            case None | "&" | "&&" | "|" | "||" | "," | ")":
                raise BadConstraint("a label is missing " + ("at the end" if word is None else f"before {word!r}"))
            case "!":
                return Lacks(term=self._one(depth + 1))
            case "(":
                inner = self.any_of(depth + 1)
                if self.word != ")":
                    raise BadConstraint("a ( has no )")
                self._at += 1
                return inner
            case _:
                return HasLabel(label=_checked(word))


def _checked(word: str) -> str:
    if "[" in word or "]" in word:
        raise BadConstraint(f"{word!r} chooses among sets of nodes, which labels do not", "topology: {within: rack}")
    if "*" in word:
        raise BadConstraint(f"{word!r} counts nodes, which labels do not", "use roles for workers of different kinds")
    if not is_label(word):
        raise BadConstraint(f"{word!r} is not a label", "letters, digits and _ . : = / @ + -")
    return word
