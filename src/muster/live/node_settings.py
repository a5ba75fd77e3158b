"""From the configuration of a server to what nodes measure, how they run images, and how they are judged."""

from muster.backends.local.node_settings import NodeSettings
from muster.core.health import HealthPolicy
from muster.formats.rules.container_rules import ContainerRules
from muster.formats.rules.server_file import HealthSettings, ServerSettings
from muster.worker.containers.settings import ContainerSettings
from muster.worker.probes.prober import ProbeSettings


def node_settings(settings: ServerSettings, *, is_shared: bool) -> NodeSettings:
    """What nodes are told. They share a machine if they divide this one among themselves."""
    return NodeSettings(
        probes=_probes(settings.health, is_shared=is_shared),
        containers=_containers(settings.containers),
        of_engines={engine: _containers(rules) for engine, rules in settings.engine_containers.items()},
    )


def health_policy(health: HealthSettings) -> HealthPolicy:
    """How nodes are judged."""
    return HealthPolicy(
        every_ms=health.every_ms, max_drained_milli=health.max_drained_milli, is_tested=bool(health.test)
    )


def _probes(health: HealthSettings, *, is_shared: bool) -> ProbeSettings:
    return ProbeSettings(
        every_ms=health.every_ms,
        command=health.command,
        test=health.test,
        folder=str(health.folder),
        is_shared=is_shared,
    )


def _containers(rules: ContainerRules) -> ContainerSettings:
    return ContainerSettings(
        runtime=rules.runtime,
        options=rules.options,
        run_options=rules.run_options,
        pull_options=rules.pull_options,
        pull_timeout_ms=rules.pull_timeout_ms,
    )
