"""From `--policy` to what is compared: policies by name, and files with rules that an operator would roll out."""

import json
from pathlib import Path

from muster.formats.rules.part_files import read_policy
from muster.formats.rules.rules import policy_document
from muster.formats.text.document import TOML_SUFFIX, YAML_SUFFIXES
from muster.model.errors import InvalidInput
from muster.model.policy import Packing, Policy
from muster.policies import NamedPolicy, find_policy, policy_names

POLICY_FILES = (*YAML_SUFFIXES, TOML_SUFFIX)
"""A name that ends like this is a file, unless a plug-in has this name."""


def policies_asked(asked: str, packing: Packing | None) -> list[NamedPolicy]:
    """What is compared, in the order asked for."""
    names = _names(asked)
    found = [_policy_called(name) for name in names]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"--policy names {name} {names.count(name)} times; once is enough")
    return found if packing is None else [policy.packed(packing) for policy in found]


def policy_files(asked: str) -> list[str]:
    """The policies that are files."""
    return [name for name in _names(asked) if _is_file(name)]


def _names(asked: str) -> list[str]:
    return [name.strip() for name in asked.split(",")]


def _is_file(name: str) -> bool:
    return Path(name).suffix.lower() in POLICY_FILES and name not in policy_names()


def _policy_called(name: str) -> NamedPolicy:
    """A policy by its name, or from a file with its rules. It then has the name of the file."""
    if not _is_file(name):
        if ("." in name or "/" in name) and name not in policy_names():
            endings = ", ".join(POLICY_FILES)
            raise InvalidInput(f"there is no policy {name!r}, and a file with a policy ends in one of {endings}")
        return find_policy(name)
    if not name.isprintable():
        raise InvalidInput(f"--policy names a file that cannot be shown: {name!r}; give it another name")
    rules = read_policy(name)
    return NamedPolicy(name=name, summary=_told_apart(rules), rules=rules)


def _told_apart(rules: Policy) -> str:
    """How rules differ from those of the live system, as a policy file writes them."""
    usual = policy_document(Policy())
    others = [f"{key}: {_written(value)}" for key, value in policy_document(rules).items() if value != usual[key]]
    return f"as muster, but {', '.join(others)}" if others else "as muster"


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
