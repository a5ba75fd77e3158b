"""The text below each field of a class, as it stands in its source: what people read there is what they are told.

Read only when somebody asks for a schema. A class whose source is not at hand has no texts.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise


def field_docs(kind: type) -> dict[str, str]:
    """The texts of a class and of those that it extends, each on one line, by the name of the field."""
    return {name: text for base in reversed(kind.__mro__) for name, text in _own(base)}


def _own(kind: type) -> Iterator[tuple[str, str]]:
    if not vars(kind).get("__annotations__"):
        return
    try:
        (declared,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except OSError:
        return
    assert isinstance(declared, ast.ClassDef)
    for field, below in pairwise(declared.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())
            case _:
                pass
