"""The batch job that stands for a gang in Slurm: its options, and the script that starts an agent on each node.

Pure.
"""

import base64
import shlex

from muster.backends.allocations.delivery import AgentDelivery, kept_running
from muster.backends.allocations.engine import AllocationRequest, NodeShare

KEPT = "SLURM_JOB_ID|SLURM_CONF|SLURM_CLUSTER_NAME"
"""What is left of Slurm's variables for workers. Frameworks would take the others for the shape of their gang."""


def options_of(request: AllocationRequest, *, partition: str, comment: str, output: str, extra: list[str]) -> list[str]:
    """The options of sbatch. Nodes that get different shares are parts of a heterogeneous job."""
    common = [
        f"--partition={partition}",
        f"--job-name=muster-{request.job}-{request.attempt}",
        f"--comment={comment}",
        "--no-requeue",
        "--no-kill",
        f"--output={output}",
        f"--error={output}",
        *extra,
    ]
    if request.limit_s is not None:
        common.append(f"--time={-(-request.limit_s // 60)}")
    if request.is_exclusive:
        common.append("--exclusive")
    parts = [[*common, *_share(share)] for share in request.shares]
    return [word for number, part in enumerate(parts) for word in ([":"] if number else []) + part]


def _share(share: NodeShare) -> list[str]:
    gpu = f"gpu:{share.gpu_type}" if share.gpu_type else "gpu"
    return [
        f"--nodelist={','.join(share.nodes)}",
        f"--nodes={len(share.nodes)}",
        f"--ntasks={len(share.nodes)}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={share.cpus}",
        *([f"--gres={gpu}:{share.gpus}"] if share.gpus else []),
        *([f"--mem={-(-share.memory_bytes >> 20)}M"] if share.memory_bytes else []),
    ]


def script_of(request: AllocationRequest, arrival: AgentDelivery) -> str:
    """The script. It holds a token, which Slurm shows only to the owner of the job and to operators."""
    sent = base64.encodebytes(_bundle(request, arrival)).decode()
    # Input reaches only one part of a heterogeneous job, so each part has a step of its own.
    many = len(request.shares) > 1
    groups = [f"--het-group={number} " for number in range(len(request.shares))] if many else [""]
    steps = "\n".join(f'step {group}& steps="$steps $!"' for group in groups)
    return f"""#!/bin/sh
# Muster's {request.job}, attempt {request.attempt}: one agent on each node, which runs what Muster tells it.
umask 077
steps=
sent=$(mktemp)
trap 'rm -f "$sent"' EXIT
trap : TERM
base64 -d > "$sent" <<'END'
{sent}END
# Each task reads its agent, and the token that the agent shows, from its input.
step() {{
    exec srun "$@" --no-kill --wait=0 --kill-on-bad-exit=0 --input=all --export=ALL --quit-on-interrupt \\
        sh -c {shlex.quote(_task(request, arrival))} < "$sent"
}}
{steps}
code=0
for process in $steps; do
    ended=0
    while kill -0 "$process" 2> /dev/null; do wait "$process"; ended=$?; done  # a signal ends a wait early
    [ "$ended" = 0 ] || code=$ended
done
exit "$code"
"""


def _bundle(request: AllocationRequest, arrival: AgentDelivery) -> bytes:
    """What each task reads: the token, the authorities and the agent, the first two with their lengths."""
    head = f"{request.token}\n{len(arrival.authorities.encode())}\n"
    return head.encode() + arrival.authorities.encode() + (b"" if arrival.shared_file else arrival.agent)


def _task(request: AllocationRequest, arrival: AgentDelivery) -> str:
    """What runs on each node: an agent, begun anew if it is killed, in a folder that goes with it."""
    agent = kept_running(request, arrival, node="$SLURMD_NODENAME", folder="$home", code="$code")
    return f"""
umask 077
code=${{TMPDIR:-/tmp}}/muster-$(id -u)-code
home=${{TMPDIR:-/tmp}}/muster-$(id -u)-{request.id}-$SLURMD_NODENAME
mkdir "$home" || exit 1
trap : TERM
trap 'rm -rf "$home"' EXIT
read -r token; read -r length
printf %s "$token" > "$home/token"
head -c "$length" > "$home/ca.pem"
cat > "$home/agent.pyz"
for name in $(env | sed -n 's/^\\(SLURM[A-Z0-9_]*\\)=.*/\\1/p'); do
    case $name in {KEPT}|SLURMD_NODENAME) ;; *) unset "$name" ;; esac
done
cd /
{agent}"""
