"""The working directory of a job that is about to be submitted. Loads nothing that a job without a bundle needs not."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster.model.errors import InvalidInput

if TYPE_CHECKING:
    from muster.client.bundles.packing import PackedFolder
    from muster.client.transport import Transport

# ruff: noqa: PLC0415


def packed_workdir(document: Mapping[str, Any], beside: Path) -> "PackedFolder | None":
    """The bundle of a job whose `workdir` is relative to `beside`; None when nothing is to be copied."""
    workdir = document.get("workdir")
    if not isinstance(workdir, str) or not workdir or workdir.startswith(("/", "~")) or "bundle" in document:
        return None
    from muster.client.bundles.packing import pack

    try:
        folder = Path(beside, workdir).resolve()
    except OSError:
        raise InvalidInput("the present folder is gone; go to another one, or give an absolute workdir") from None
    return pack(folder)


def with_bundle(document: Mapping[str, Any], packed: "PackedFolder") -> dict[str, Any]:
    """The job as plain values with its bundle."""
    bundle = packed.bundle
    said = {"id": bundle.id, "files": bundle.files, "size": bundle.size_bytes}
    said |= {"commit": bundle.commit} if bundle.commit else {}
    return {**document, "bundle": said | ({"dirty": True} if bundle.dirty else {})}


def send_bundle(wire: "Transport", document: Mapping[str, Any], packed: "PackedFolder") -> None:
    """Have the server store a bundle for the team of a job."""
    from muster.client.bundles.uploading import upload

    upload(wire, packed, document.get("team"))
