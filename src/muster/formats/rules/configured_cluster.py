"""The `cluster` table of `muster.toml`: levels and nodes as in a scenario, or a file that has them."""

from dataclasses import dataclass
from pathlib import Path

from muster.formats.parts.kinds import Text
from muster.formats.parts.wire import Wire, read_part
from muster.formats.rules.cluster_file import cluster_from_document, cluster_part
from muster.formats.text.document import Document, Problems, read_document
from muster.model.errors import InvalidFile, MusterError
from muster.model.node import ClusterSpec

CLUSTER, FILE = "cluster", "file"


class ClusterFileWire(Wire):
    """Where the cluster is described, if not here."""

    file: Text
    """Instead of all other keys: a YAML file with `levels` and `nodes`, or a scenario, beside the configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredCluster:
    """The nodes that a configuration describes."""

    spec: ClusterSpec
    document: object
    """As it is written, in plain values: reading it again gives the same nodes."""
    file: str = ""
    """The file that describes them, if it is another."""
    ignored: tuple[str, ...] = ()
    """Parts of that file that are not read, because rules are written in the configuration."""


def find_configured_cluster(
    document: Document, folder: Path, problems: Problems, rules: tuple[str, ...]
) -> ConfiguredCluster | None:
    """The cluster of a configuration, if it describes one. What is wrong with it is noted.

    A file that it names lies beside the configuration. What is wrong in there raises an error with its lines.
    """
    value = document.value.get(CLUSTER) if isinstance(document.value, dict) else None
    if value is None:
        return None
    if not isinstance(value, dict) or FILE not in value:
        return ConfiguredCluster(spec=cluster_part(value, problems, (CLUSTER,)), document=value)
    wire = read_part(ClusterFileWire, value, problems, (CLUSTER,))
    if wire is None:
        return None
    try:
        return _elsewhere(folder / wire.file, rules)
    except InvalidFile:
        raise
    except (MusterError, OSError) as error:
        problems.add((CLUSTER, FILE), str(error))
        return None


def _elsewhere(path: Path, rules: tuple[str, ...]) -> ConfiguredCluster:
    named = read_document(path)
    found = named.value if isinstance(named.value, dict) else {}
    return ConfiguredCluster(
        spec=cluster_from_document(named),
        document=found.get(CLUSTER, named.value),
        file=str(path),
        ignored=tuple(part for part in rules if part in found),
    )
