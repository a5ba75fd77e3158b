"""`jax.distributed.initialize()` without arguments finds its gang."""

import sys
from pathlib import Path

from muster.model.spec import Launch
from tests.launchers.gangs import a_gang, begin, codes, output
from tests.local.machine import Machine, a_spec

TRAIN = """
import jax, numpy
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.distributed.initialize()
me, all = jax.process_index(), jax.process_count()
gathered = multihost_utils.process_allgather(numpy.array([me + 1.0])).ravel().tolist()
mesh = Mesh(numpy.array(jax.devices()), ("x",))
own = NamedSharding(mesh, PartitionSpec("x"))
parts = jax.make_array_from_callback((jax.device_count(),), own, lambda _: numpy.array([me + 1.0], numpy.float32))
total = jax.jit(lambda array: array.sum(), out_shardings=NamedSharding(mesh, PartitionSpec()))(parts)
print(f"process {me} of {all} gathers {gathered} and sums to {float(total)}")
"""


def test_processes_gather_and_sum_across_workers(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    run = f"{sys.executable} {tmp_path}/train.py"
    begin(machine, a_spec(run, launch=Launch.JAX, env={"JAX_PLATFORMS": "cpu"}), a_gang("n1", "n2"))
    assert codes(machine, 2) == {0: 0, 1: 0}, output(machine, 0)
    for rank in (0, 1):
        said = f"process {rank} of 2 gathers [1.0, 2.0] and sums to 3.0"
        assert said in output(machine, rank).splitlines()
