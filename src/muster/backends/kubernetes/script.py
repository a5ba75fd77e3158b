"""What a pod runs: an agent that is begun anew if it is killed, until it ends in order. Pure."""

import shlex

from muster.backends.allocations.delivery import AgentDelivery, kept_running
from muster.backends.allocations.engine import AllocationRequest
from muster.backends.kubernetes.pods import MISTAKE_CODE
from muster.model.ids import NodeName

SENT = "/run/muster/sent"
"""Where a pod has the agent and its token."""
HOME = "/run/muster/home"
SCRATCH = "/run/muster/scratch"


def script_of(request: AllocationRequest, arrival: AgentDelivery, node: NodeName) -> str:
    """The script of the first process of a pod.

    Only this process is told that the pod has to leave, so it tells all others. The agent and its supervisor stay to
    report how workers leave. Where it is not the first process of a namespace of its own, it tells nobody.
    """
    folder, code = f"{HOME}/agent", f"{HOME}/code"
    agent = kept_running(request, arrival, node=node, folder=folder, code=code, sent=SENT)
    return f"""\
umask 077
tell() {{ [ $$ != 1 ] || kill -TERM -1; }}
trap tell TERM
fail() {{ echo "$1" >&2; exit {MISTAKE_CODE}; }}
{arrival.python} -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail {shlex.quote(_no_python(arrival))}
mkdir -p {folder} {code} || exit 1
(
trap : TERM
{agent}) &
agent=$! code=0
while kill -0 $agent 2> /dev/null; do wait $agent; code=$?; done  # a signal ends a wait early
exit $code
"""


def _no_python(arrival: AgentDelivery) -> str:
    return f"the image has no {arrival.python} that is Python 3.11 or newer: add it, or say `python` of the engine"
