"""What a keeper runs on a node for an allocation: an agent, begun anew if it is killed. Pure."""

import shlex

from muster.backends.allocations.delivery import NO_PYTHON, AgentDelivery, kept_running
from muster.backends.allocations.engine import AllocationRequest
from muster.model.ids import NodeName

NODES_PYTHON = '"$MUSTER_NODE_PYTHON"'
"""The Python that Ray runs with on the node, as a word of the script."""


def files_of(request: AllocationRequest, arrival: AgentDelivery, node: NodeName, output: str) -> dict[str, str]:
    """The files that stand in the home of an allocation on a node, beside the agent's own."""
    return {
        "run.sh": _script(request, arrival, node, output),
        "token": request.token,
        "ca.pem": arrival.authorities,
    }


def _script(request: AllocationRequest, arrival: AgentDelivery, node: NodeName, output: str) -> str:
    """The script. Whoever makes the folder `begun` first decides whether it runs at all."""
    said = (
        f"exec > {shlex.quote(f'{output}/muster-{request.job}-{request.attempt}-{node}.out')} 2>&1\n" if output else ""
    )
    agent = kept_running(request, arrival, node=str(node), folder="$home", code="$code")
    return f"""# Muster's {request.job}, attempt {request.attempt}: an agent, which runs what Muster tells it.
umask 077
home=$MUSTER_ALLOCATION_HOME
code=${{TMPDIR:-/tmp}}/muster-$(id -u)-code
mkdir "$home/begun" || exit 1
{said}trap : TERM
trap '[ $? != {NO_PYTHON} ] || echo {NO_PYTHON} > "$MUSTER_ALLOCATION_DONE"' EXIT
cd /
{agent}: > "$MUSTER_ALLOCATION_DONE"
rm -rf "$home"
"""
