"""The table `engines` of `muster.toml`: what starts processes on some nodes, where this machine does not.

Entries are told apart by `kind`, and each kind has a class of its own in `engines`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from muster.formats.parts.wire import closest, read_part
from muster.formats.rules.configured_cluster import CLUSTER
from muster.formats.rules.engines.agents import AgentsWire
from muster.formats.rules.engines.entry import EngineWire
from muster.formats.rules.engines.kubernetes import KubernetesWire
from muster.formats.rules.engines.local import LocalEngineWire
from muster.formats.rules.engines.ray import RayWire
from muster.formats.rules.engines.slurm import SlurmWire
from muster.formats.text.document import Problems
from muster.formats.text.units import shown
from muster.model.ids import LOCAL_ENGINE
from muster.model.node import ClusterSpec

ENGINES_MOST = 64
"""More engines than an organisation has."""

KINDS: Final[Mapping[str, type[EngineWire]]] = {
    "agents": AgentsWire,
    "kubernetes": KubernetesWire,
    "local": LocalEngineWire,
    "ray": RayWire,
    "slurm": SlurmWire,
}


def read_engines(value: object, problems: Problems) -> tuple[EngineWire, ...]:
    """The entries, each by its kind. What is wrong with the others is noted."""
    if not isinstance(value, list):
        if value is not None:
            problems.add(("engines",), f"must be a list, not {shown(value)}", "begin each with [[engines]]")
        return ()
    if len(value) > ENGINES_MOST:
        problems.add(("engines",), f"has {len(value)} entries, and {ENGINES_MOST} are the most")
        return ()
    read = (_read(each, place, problems) for place, each in enumerate(value))
    return tuple(each for each in read if each is not None)


def _read(value: object, place: int, problems: Problems) -> EngineWire | None:
    at, known = ("engines", place), ", ".join(KINDS)
    if not isinstance(value, dict):
        problems.add(at, f"must be a mapping of keys to values, not {shown(value)}")
    elif value.get("kind") is None:
        problems.add((*at, "kind"), "is required and was not given", f"known: {known}")
    elif str(value["kind"]) not in KINDS:
        problem = f"must be one of {known}, not {shown(value['kind'])}"
        problems.add((*at, "kind"), problem, closest(str(value["kind"]), KINDS))
    else:
        return read_part(KINDS[value["kind"]], value, problems, at)
    return None


def check_engines(engines: Sequence[EngineWire], cluster: ClusterSpec | None, problems: Problems) -> None:
    """Note engines that are named twice or lack what their kind needs, and nodes of engines that are not there."""
    names = [engine.name for engine in engines]
    for place, engine in enumerate(engines):
        at = ("engines", place)
        taken = names[:place] if isinstance(engine, LocalEngineWire) else (LOCAL_ENGINE, *names[:place])
        if engine.name in taken:
            problems.add((*at, "name"), f"{engine.name!r} is taken already", "give each engine its own name")
        engine.check(problems, at)
    known = (LOCAL_ENGINE, *(engine.name for engine in engines if isinstance(engine, AgentsWire)))
    described = () if cluster is None else cluster.nodes
    for name in dict.fromkeys(node.engine for node in described):
        if name in names and name not in known:
            problem = f"nodes of {name!r} are described, and their engine says itself what it has"
            problems.add((CLUSTER, "nodes"), problem, "leave them out")
        elif name not in known:
            problem = f"{name!r} is the engine of nodes, and there is none"
            problems.add((CLUSTER, "nodes"), problem, closest(name, known))
