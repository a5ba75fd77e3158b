"""The tree of a saved state, and the paths in it.

A node is a plain value, a list or a dict of nodes, or an object that stands for something else and says so under `$`. A
path spells the keys from the state to a node, with slashes between them.
"""

from typing import Any

KIND = "$"
"""Marks an object of the tree that JSON has no form for."""


def kind_of(node: Any) -> str | None:
    """What an object of the tree stands for; None for a plain value, list or dict."""
    return node.get(KIND) if isinstance(node, dict) else None


def items_of(node: dict[str, Any]) -> list[Any]:
    """The keys and values of a dict in the tree."""
    return node["items"] if node.get(KIND) == "dict" else [list(item) for item in node.items()]


def key_of(value: Any) -> Any:
    """A key as it was: JSON has made a list of a tuple."""
    return tuple(value) if isinstance(value, list) else value


def has_shared(node: Any) -> bool:
    """True when a part of the tree stands for sharded tensors."""
    if isinstance(node, list):
        return any(has_shared(each) for each in node)
    return isinstance(node, dict) and (kind_of(node) == "shared" or any(has_shared(each) for each in node.values()))


def below(path: str, *keys: Any) -> str:
    """The path of what is inside, which no two values share."""
    spelled = [str(key).replace("~", "~0").replace("/", "~1") for key in keys]
    return "/".join([path, *spelled] if path else spelled)


def plain(spelled: str) -> str:
    """A key as it was, from its spelling in a path."""
    return spelled.replace("~1", "/").replace("~0", "~")


def in_brackets(path: str) -> str:
    """A path as the user writes it behind the name of the state."""
    return "".join(f"[{plain(key)!r}]" for key in path.split("/")) if path else ""
