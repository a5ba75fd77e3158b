"""What all tests share: services that some need, and how hard hypothesis tries.

The profile `default` is the same in every run, `thorough` is for a long evening:
`pytest --hypothesis-profile=thorough tests/property`
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from muster.core.planning import cycle
from muster.worker.launch.runtime_folder import SCRATCH
from tests import capabilities
from tests.capabilities import (  # noqa: F401 (hooks)
    pytest_make_collect_report,
    pytest_runtest_makereport,
    pytest_terminal_summary,
)
from tests.kube.cluster import KubeCluster, running_kubernetes
from tests.postgres import Server, running_server
from tests.ray_cluster import RayCluster, running_ray
from tests.slurm_cluster import Cluster, running_cluster

SLOW_DATA = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=100, database=None, suppress_health_check=SLOW_DATA
)
settings.register_profile("thorough", deadline=None, max_examples=2_000, suppress_health_check=SLOW_DATA)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    capabilities.pytest_addoption(parser)
    parser.addoption(
        "--compiled", action="store_true", help="Test compiled code, and nothing that only plain code can."
    )


def pytest_configure(config: pytest.Config) -> None:
    origin = str(cycle.__file__)
    if config.getoption("--compiled") and not origin.endswith(".so"):
        raise pytest.UsageError(f"the code is not compiled: {origin}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--compiled"):
        pure = [item for item in items if item.get_closest_marker("pure_only")]
        items[:] = [item for item in items if not item.get_closest_marker("pure_only")]
        config.hook.pytest_deselected(items=pure)


@pytest.fixture(scope="session", autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where nodes under test keep hot checkpoints: a place that goes with the other files of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("scratch")
        patch.setenv(SCRATCH, str(folder))
        yield folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, started when the first test asks for it."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    """A Slurm with two nodes, started when the first test asks for it. A test leaves its nodes idle."""
    with running_cluster(2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[KubeCluster]:
    """A Kubernetes with two nodes, started when the first test asks for it. A test leaves them ready and idle."""
    with running_kubernetes({"n0": "r1", "n1": "r1"}) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def ray() -> Iterator[RayCluster]:
    """A Ray with four nodes in two racks, started when the first test asks for it. A test leaves them without work."""
    with running_ray(4, racks={"n0": "r1", "n1": "r1", "n2": "r2", "n3": "r2"}) as cluster:
        yield cluster
