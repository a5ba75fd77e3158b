"""The fields of a class: their types, the marks in their annotations, and the text below each."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin


def marks(hint: Any) -> tuple[Any, ...]:
    """The marks in an annotation: everything in it besides the type."""
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def unmarked(hint: Any) -> Any:
    """The type in an annotation."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def may_be_none(hint: Any) -> bool:
    """True when None is a value of this type."""
    return get_origin(unmarked(hint)) in (Union, UnionType) and NoneType in get_args(unmarked(hint))


def without_none(hint: Any) -> Any:
    """The type of a value that is not None."""
    return next(each for each in get_args(hint) if each is not NoneType) if may_be_none(hint) else hint


def field_docs(kind: type) -> dict[str, str]:
    """The texts below the fields of a class and of its base classes, each on one line.

    They are read from the source, so that users are told the same text that is in the code. A class without source has
    no texts.
    """
    return {name: text for base in reversed(kind.__mro__) for name, text in _own(base)}


def _own(kind: type) -> Iterator[tuple[str, str]]:
    if not vars(kind).get("__annotations__"):
        return
    try:
        (declared,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):
        return
    assert isinstance(declared, ast.ClassDef)
    for field, below in pairwise(declared.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())
            case _:
                pass
