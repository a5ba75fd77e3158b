"""How agents come to the nodes of an allocation, and what starts them there. Pure."""

import shlex
from dataclasses import dataclass, field

from muster.backends.allocations.engine import AllocationRequest
from muster.backends.allocations.posts import AT
from muster.worker.agent.packing import at_once
from muster.worker.launch.runtime_folder import HOT, SCRATCH, SCRATCH_PARENT

TRIES_MOST = 20
"""How often an agent that ends by itself is begun anew."""

NO_PYTHON = 127
"""The exit code of the script where nothing can run an agent. To try again would not help."""


def no_python(where: str, python: str, engine: str) -> str:
    """What people are told then, and what to do."""
    wanted = f"{where} {python} that is Python 3.11 or newer"
    return f"{wanted}: install it, or say `python` of the engine {engine} in muster.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDelivery:
    """How agents come to nodes, and whom they call."""

    urls: str
    python: str
    mark: str
    """Tells what this Muster leaves on a node, for its next allocation there, from what others leave."""
    agent: bytes = field(repr=False)
    """The agent's file."""
    shared_file: str = ""
    """Where all nodes find that file; empty to send it along."""
    authorities: str = ""
    """Certificate authorities to trust, in PEM; empty for those of the nodes."""


def kept_running(
    request: AllocationRequest, arrival: AgentDelivery, *, node: str, folder: str, code: str, sent: str = ""
) -> str:
    """The part of a shell script that runs an agent, begun anew if it is killed, until it ends in order.

    `node`, `folder`, `code` and `sent` are words between double quotes, so they may name variables of the script: the
    node, the folder that is the agent's home, the one that agents share for code, and the one with the files `token`,
    `ca.pem` and `agent.pyz`, which is the home unless it is said. Hot checkpoints outlive the home.
    """
    sent = sent or folder
    if arrival.shared_file:
        agent = f"-S -E {shlex.quote(arrival.shared_file)}"
    else:
        agent = f'-S -I -c {shlex.quote(at_once(arrival.agent))} "{sent}/agent.pyz" "{code}"'
    options = f'--home "{folder}" --code "{code}" --node "{node}" --post "{request.id}{AT}{node}"'
    ca = f' --ca "{sent}/ca.pem"' if arrival.authorities else ""
    return f"""export {HOT}="${{{SCRATCH}:-{SCRATCH_PARENT}}}/muster-$(id -u)-{arrival.mark}-{node}/hot"
tries=0
until {arrival.python} {agent} {options} --url {shlex.quote(arrival.urls)} --token-file "{sent}/token"{ca}; do
    {arrival.python} -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null
    case $? in 1|126|127) exit {NO_PYTHON} ;; esac
    tries=$((tries + 1))
    [ "$tries" -lt {TRIES_MOST} ] || exit 1
    sleep 1
done
"""
