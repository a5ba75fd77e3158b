"""Reasons that name one obstacle which, taken away alone, would let a gang start, as they are worded."""

from muster.core.cluster.node_filter import node_wishes
from muster.model.plan import Reason, ReasonCode
from muster.model.spec import JobSpec

SPOT = Reason(
    code=ReasonCode.SPOT,
    message="there is room on spot nodes, which take only jobs that can resume",
    would_help="a `checkpoint` in the job file",
)

NOT_EMPTY = "exclusive"
"""The rule of a gang that wants nodes for itself and would fit if it did not."""

NOT_ALONE = "beside_jobs"
"""The rule of a reservation that is in the way of a gang beside what runs: both have to end."""

ACROSS_ENGINES = Reason(
    code=ReasonCode.ENGINE,
    message="it would fit across the cluster, but not inside one engine, and no gang spans two",
    would_help="fewer workers, or more nodes in one engine",
)

NO_RUNTIME = Reason(
    code=ReasonCode.IMAGE,
    message="it has an image, and only nodes without a container runtime have room for it now",
    would_help="podman, docker, apptainer or enroot on more nodes",
)

NO_PARTS = Reason(
    code=ReasonCode.ENGINE,
    message="it asks for a part of a GPU, and only nodes have room whose engine gives whole ones",
    would_help="whole GPUs",
)

SHARED_ONLY = Reason(
    code=ReasonCode.FRAGMENTED,
    rule=NOT_EMPTY,
    message="it would fit, but wants nodes for itself (`exclusive`), and too few of them are empty",
    would_help="dropping `exclusive`, or whole nodes coming free",
)


def never(message: str) -> Reason:
    """A gang that fits nowhere, whatever ends."""
    return Reason(code=ReasonCode.NEVER_FITS, message=message, would_help="a smaller gang, or a larger cluster")


def other_type(spec: JobSpec) -> Reason:
    """A job that would fit on GPUs of a type that it does not accept."""
    wanted = ", ".join(dict.fromkeys(kind for role in spec.roles for kind in role.request.gpu_types))
    return Reason(
        code=ReasonCode.GPU_TYPE,
        message=f"it accepts only {wanted}; another type has room for it now",
        would_help="accepting more GPU types",
    )


def other_nodes(spec: JobSpec) -> Reason:
    """A job that would fit on nodes that it does not accept."""
    wishes = node_wishes(spec)
    key = wishes[0].strip("`").partition(":")[0]
    return Reason(
        code=ReasonCode.CONSTRAINT,
        message=f"nodes that {' and '.join(wishes)} leaves out have room for it now",
        would_help=f"a {key} that accepts more nodes" if key != "engine" else "leaving out `engine`, or another one",
    )
