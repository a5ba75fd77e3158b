"""What a job file says about its containers: the image, and what of the node they see.

These words become words of the command lines of several programs. So they hold nothing that one of them would take for
an option, for two words or for two paths.
"""

import posixpath
import re
from typing import Annotated

from muster.formats.parts.kinds import JsonSchema, Kind, text
from muster.formats.text.units import BadValue, shown
from muster.model.spec import Mount

IMAGE_CHARS = 512
PATH_CHARS = 1024
"""The longest path of a mount: a quarter of what Linux allows."""

CLAIM = "pvc:"
"""How `from` begins where it is no path of a node but a claim of Kubernetes."""

MOUNT_HINT = "{from: /data, to: /data, read_only: true}"

_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/"
_NAME = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:{_HOST})?{_NAME}(?:/{_NAME})*(?::[A-Za-z0-9_][A-Za-z0-9._-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?"
)
_UNSAFE = re.compile(r"""[,:;"'\\$`=*?\[\]\x00-\x1f\x7f]""")
"""What separates paths or options in the command line of a runtime, or means something to a shell."""

_CLAIM_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")

_KEYS = ("from", "to", "read_only")
_OF_THE_SYSTEM = ("/", "/proc", "/sys", "/dev")
"""Places in a container that its runtime fills."""


def image_name(value: object) -> str:
    """The name of an image, as registries know it."""
    word = text(value)
    if len(word) > IMAGE_CHARS or not _IMAGE.fullmatch(word):
        hint = "such as registry.example/team/train:2.1, or with @sha256:… for exactly one image"
        raise BadValue(f"{shown(word)} is not the name of an image", hint)
    return word


def mount(value: object) -> Mount:
    """`{from: /data, to: /data, read_only: true}`."""
    if not isinstance(value, dict):
        raise BadValue(f"must be a mount, not {shown(value)}", MOUNT_HINT)
    unknown = [str(key) for key in value if key not in _KEYS]
    if unknown:
        raise BadValue(f"unknown key {shown(unknown[0])}", MOUNT_HINT)
    missing = [key for key in _KEYS[:2] if value.get(key) is None]
    if missing:
        raise BadValue(f"does not say `{missing[0]}`", MOUNT_HINT)
    read_only = value.get("read_only")
    if not isinstance(read_only, bool | None):
        raise BadValue(f"read_only must be true or false, not {shown(read_only)}")
    target = _path(value["to"])
    if any(target == place or (place != "/" and target.startswith(f"{place}/")) for place in _OF_THE_SYSTEM):
        raise BadValue(f"`to` cannot be {shown(target)}, which the container has for itself", MOUNT_HINT)
    return Mount(source=_source(value["from"]), target=target, read_only=bool(read_only))


def mount_value(each: Mount) -> object:
    """The inverse of `mount`."""
    paths = {"from": each.source, "to": each.target}
    return {**paths, "read_only": True} if each.read_only else paths


def _source(value: object) -> str:
    """A path of the node, or `pvc:NAME`, perhaps with a folder in the claim: `pvc:NAME/folder`."""
    words = text(value)
    if not words.startswith(CLAIM):
        return _path(value)
    claim, _, inside = words.removeprefix(CLAIM).partition("/")
    if not _CLAIM_NAME.fullmatch(claim):
        raise BadValue(f"{shown(claim)} is not the name of a claim", "such as pvc:datasets, or pvc:datasets/images")
    return f"{CLAIM}{claim}" + (_path(f"/{inside}") if inside else "")


def _path(value: object) -> str:
    """An absolute path that means the same to every program."""
    path = text(value)
    if not path.startswith("/"):
        raise BadValue(f"{shown(path)} is not an absolute path", MOUNT_HINT)
    if len(path) > PATH_CHARS or _UNSAFE.search(path):
        problem = (
            f"is longer than {PATH_CHARS} characters" if len(path) > PATH_CHARS else "contains a special character"
        )
        raise BadValue(f"{shown(path)} {problem}", "a path without commas, colons, quotes, $, = and wildcards")
    if ".." in path.split("/"):
        raise BadValue(f"{shown(path)} contains ..", "write where it leads")
    return posixpath.normpath(f"/{path.lstrip('/')}")


_PATH_SCHEMA: JsonSchema = {"type": "string", "pattern": "^/[a-z0-9_]{2,20}(/[A-Za-z0-9_.-]{3,20}){0,3}$"}
_MOUNT_SCHEMA: JsonSchema = {
    "type": "object",
    "description": "A folder or a file of the node, and where the container has it.",
    "properties": {
        "from": _PATH_SCHEMA,
        "to": {"type": "string", "pattern": "^/(data|work)[a-z0-9_]{0,20}$"},
        "read_only": {"type": "boolean", "description": "Whether it can only be read there."},
    },
    "additionalProperties": False,
    "required": ["from", "to"],
}
_IMAGE_SCHEMA: JsonSchema = {
    "type": "string",
    "pattern": "^[a-z][a-z0-9]{0,20}(/[a-z][a-z0-9]{0,20}){0,2}(:[a-z0-9]{1,9})?$",
}

ImageName = Annotated[str, Kind(read=image_name, schema=_IMAGE_SCHEMA)]
MountEntry = Annotated[Mount, Kind(read=mount, write=mount_value, schema=_MOUNT_SCHEMA)]
