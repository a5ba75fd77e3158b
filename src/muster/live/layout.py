"""The nodes that this machine is used as: as given, as described in the configuration, or as last time.

What was used last is kept under home, so that `muster up` without options finds every job on its node.
"""

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from muster.backends.local.inventory import Machine, divided, this_machine, whole
from muster.formats.rules.cluster_file import cluster_from_document, cluster_from_text
from muster.formats.rules.engines.entry import NodesSettings
from muster.formats.rules.engines.local import LocalEngineSettings
from muster.formats.rules.server_file import ServerSettings
from muster.formats.text.document import parse_document
from muster.home import Home
from muster.model.errors import InvalidInput
from muster.model.node import ClusterSpec
from muster.model.resources import UNTRACKED
from muster.worker.launch.runtime_folder import scratch_problem

WHOLE = "whole"
"""One node with everything this machine has."""

NOTHING = "nothing"
"""No node: engines elsewhere have all of them."""

_log = logging.getLogger("muster.live")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The nodes, and how to write down which they are."""

    cluster: ClusterSpec
    text: str
    """`whole`, a size such as `4x8`, or the described cluster as JSON."""
    notes: tuple[str, ...] = ()
    """What an operator should know about them."""

    @property
    def is_shared(self) -> bool:
        """True when several nodes, or a node that is only said to be so, share what this machine has."""
        return self.text != WHOLE

    def keep(self, home: Path) -> None:
        """Save which nodes they are, if that has changed. A full disk does not prevent the start.

        Called only by a process that is in charge: a start that is refused must not change what the next start does.
        """
        path = Home(home).layout
        if path.exists() and _saved(path) == self.text:
            return
        try:
            path.write_text(f"{self.text}\n", "utf-8")
        except OSError as error:
            _log.warning("how the machine is used could not be kept", extra={"cause": str(error)})


def find_layout(home: Path, settings: ServerSettings, given: str | None) -> Layout:
    """The nodes as given on the command line, or else as configured, or else as they were last."""
    described = settings.cluster
    if given is None and described is not None:
        left_out = f"{described.file} also has {', '.join(described.ignored)}: write that into the configuration"
        notes = (f"{left_out}, it is not read from there",) if described.ignored else ()
        _check_scratch()
        return _described(json.dumps(described.document), described.spec, home, notes)
    if (
        given is None
        and settings.nodes is None
        and any(isinstance(engine, NodesSettings) for engine in settings.engines)
        and not any(isinstance(engine, LocalEngineSettings) for engine in settings.engines)
    ):
        return Layout(cluster=ClusterSpec(), text=NOTHING)
    _check_scratch()
    text = given or settings.nodes or _saved(Home(home).layout)
    text = WHOLE if text == NOTHING else text
    if text.startswith("{"):
        spec = cluster_from_document(parse_document(text, file=f"{Home(home).layout}.json"))
        return _described(text, spec, home, ())
    if text == WHOLE:
        return Layout(cluster=ClusterSpec(nodes=whole(this_machine(home))), text=text)
    size = cluster_from_text(text)
    notes = ("--nodes counts, and not [cluster] of the configuration",) if described is not None else ()
    return Layout(cluster=ClusterSpec(nodes=divided(len(size.nodes), size.nodes[0].gpus)), text=text, notes=notes)


def _check_scratch() -> None:
    """Refuse a place for large files on which no job of this machine could start."""
    if problem := scratch_problem(os.environ):
        raise InvalidInput(problem)


def _described(text: str, spec: ClusterSpec, home: Path, notes: tuple[str, ...]) -> Layout:
    return Layout(cluster=spec, text=text, notes=(*notes, *claims(spec, this_machine(home))))


def claims(cluster: ClusterSpec, machine: Machine) -> tuple[str, ...]:
    """What nodes are said to have and this machine does not."""
    cpus = sum(node.cpu_milli for node in cluster.nodes if node.cpu_milli < UNTRACKED // 2) // 1000
    memory = sum(node.memory_bytes for node in cluster.nodes if node.memory_bytes < UNTRACKED // 2)
    found = [
        (f"{cpus} CPUs", f"{machine.cpus}", cpus > machine.cpus),
        (f"{memory >> 30} GiB of memory", f"{machine.memory_bytes >> 30}", memory > machine.memory_bytes),
    ]
    more = [f"{said} together and this machine has {has}" for said, has, is_more in found if is_more]
    if not more:
        return ()
    return (f"the described nodes have {', and '.join(more)}: jobs are counted by what is described, and share it",)


def _saved(path: Path) -> str:
    return path.read_text("utf-8").strip() if path.exists() else WHOLE
