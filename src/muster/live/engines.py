"""The engines that a configuration names, with the adapters that talk to them."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from muster.backends.allocations.book import AllocationBook
from muster.backends.allocations.delivery import AgentDelivery
from muster.backends.allocations.engine import AllocationEngine, AllocationId
from muster.backends.kubernetes.engine import KubernetesEngine
from muster.backends.kubernetes.settings import KubernetesSettings, Toleration
from muster.backends.ray.driver import RayDriver, RayPlace
from muster.backends.ray.engine import RayEngine, RaySettings
from muster.backends.ray.script import NODES_PYTHON
from muster.backends.slurm.engine import SlurmEngine, SlurmSettings
from muster.backends.slurm.programs import SlurmPrograms
from muster.formats.rules.engines.entry import NodesSettings
from muster.formats.rules.engines.kubernetes import KubernetesNamespace
from muster.formats.rules.engines.ray import RayCluster
from muster.formats.rules.engines.slurm import SlurmPartition
from muster.formats.rules.server_file import ServerSettings
from muster.live.engine_nodes import EngineUse
from muster.model.ids import EngineName, NodeName
from muster.worker.agent.packing import agent_file


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSite:
    """What adapters of engines know of the server."""

    mark: Callable[[], str]
    """Tells what this Muster has asked for from what others have."""
    arrival: Callable[[NodesSettings], AgentDelivery]
    booked: Callable[[EngineName], Mapping[AllocationId, tuple[NodeName, ...]]]
    """The allocations of an engine that are written down, with their nodes."""


def engines_of(home: Path, settings: ServerSettings, url: str) -> list[EngineUse]:
    """Those engines that are asked for nodes. Agents call `url`, unless another address is configured."""
    book, packed = AllocationBook(home), cache(agent_file)

    def arrival(entry: NodesSettings) -> AgentDelivery:
        return AgentDelivery(
            urls=entry.url or ",".join(settings.urls) or url,
            python=entry.python,
            mark=book.mark,
            agent=packed(),
            shared_file=entry.agent,
            authorities="" if entry.ca is None else entry.ca.read_text("utf-8"),
        )

    def booked(engine: EngineName) -> Mapping[AllocationId, tuple[NodeName, ...]]:
        return {each.id: each.nodes for each in book.read() if each.engine == engine}

    site = EngineSite(mark=lambda: book.mark, arrival=arrival, booked=booked)
    return [
        EngineUse(engine=MAKERS[type(each)](each, site), pool=each.pool, levels=each.levels)
        for each in settings.engines
        if isinstance(each, NodesSettings)
    ]


def _slurm(entry: SlurmPartition, site: EngineSite) -> SlurmEngine:
    return SlurmEngine(
        SlurmSettings(
            name=entry.name,
            partition=entry.partition,
            account=entry.account,
            qos=entry.qos,
            output=entry.output,
            options=entry.options,
        ),
        SlurmPrograms(
            folder=entry.programs, variables={} if entry.config is None else {"SLURM_CONF": str(entry.config)}
        ),
        mark=site.mark,
        arrival=lambda: site.arrival(entry),
    )


def _kubernetes(entry: KubernetesNamespace, site: EngineSite) -> KubernetesEngine:
    return KubernetesEngine(
        KubernetesSettings(
            name=entry.name,
            kubeconfig=entry.kubeconfig,
            context=entry.context,
            namespace=entry.namespace,
            level_labels=entry.level_labels,
            labels=entry.labels,
            image=entry.image,
            node_selector=entry.node_selector,
            service_account=entry.service_account,
            image_pull_secrets=entry.image_pull_secrets,
            priority_class=entry.priority_class,
            tolerations=tuple(
                Toleration(key=each.key, value=each.value, effect=each.effect) for each in entry.tolerations
            ),
            shm_bytes=entry.shm_bytes,
            scratch=entry.scratch,
            gpu_resources=entry.gpu_resources,
            gpu_type_label=entry.gpu_type_label,
            gpu_types=dict(entry.gpu_types),
            run_as=entry.run_as,
        ),
        mark=site.mark,
        arrival=lambda: site.arrival(entry),
    )


def _ray(entry: RayCluster, site: EngineSite) -> RayEngine:
    place = RayPlace(
        address=entry.address,
        python=entry.driver or sys.executable,
        mark=site.mark,
        agent=lambda: site.arrival(entry).agent,
    )
    return RayEngine(
        RaySettings(name=entry.name, level_labels=entry.level_labels, output=entry.output),
        RayDriver(place),
        arrival=lambda: replace(site.arrival(entry), python=entry.python or NODES_PYTHON),
        booked=lambda: site.booked(entry.name),
    )


MAKERS: Final[Mapping[type[NodesSettings], Callable[[Any, EngineSite], AllocationEngine]]] = {
    KubernetesNamespace: _kubernetes,
    RayCluster: _ray,
    SlurmPartition: _slurm,
}
"""By the kind of an entry, what makes its adapter."""
