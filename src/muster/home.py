"""The paths of files under Muster's home. Pure: only the names. Other modules read and write the files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "MUSTER_HOME"
DEFAULT = "~/.muster"


@dataclass(frozen=True, slots=True)
class Home:
    """The folder that holds everything of one Muster."""

    root: Path

    @property
    def database(self) -> Path:
        """The database with events, tokens and audit, unless the operator names another one."""
        return self.root / "muster.db"

    @property
    def token(self) -> Path:
        """The secret token of the person whose machine this is."""
        return self.root / "token"

    @property
    def job_access(self) -> Path:
        """What jobs need to call the server: its address, and the key of their tokens."""
        return self.root / "job-access.json"

    @property
    def login(self) -> Path:
        """The remote server that commands go to, with its token."""
        return self.root / "login.json"

    @property
    def server(self) -> Path:
        """The address and the process of the running server."""
        return self.root / "server.json"

    @property
    def standbys(self) -> Path:
        """The address and the process of each control plane that stands by, in a file named after its process."""
        return self.root / "standbys"

    @property
    def server_log(self) -> Path:
        """What the server logs."""
        return self.root / "server.log"

    def server_log_of(self, port: int, *, is_second: bool) -> Path:
        """The log of a server. A second server in the same home has one of its own, named after its port."""
        return self.root / f"server-{port}.log" if is_second else self.server_log

    @property
    def server_output(self) -> Path:
        """What a server in the background has printed since its last start."""
        return self.root / "server.out"

    @property
    def standby_output(self) -> Path:
        """The same of the control plane that was last started beside another one."""
        return self.root / "standby.out"

    @property
    def nodes(self) -> Path:
        """A folder for each node."""
        return self.root / "nodes"

    @property
    def layout(self) -> Path:
        """How this machine was last divided into nodes."""
        return self.root / "layout"

    def node(self, name: str) -> Path:
        """The folder that the supervisor of one node keeps."""
        return self.nodes / name

    @property
    def allocations(self) -> Path:
        """A record for each allocation that an engine was asked for."""
        return self.root / "allocations"

    def engine_nodes(self, name: str) -> Path:
        """The nodes that an engine had when it answered last."""
        return self.root / "engines" / f"{name}.json"

    @property
    def services(self) -> Path:
        """A record for each program at which a gang meets."""
        return self.root / "services"

    @property
    def logs(self) -> Path:
        """What workers printed."""
        return self.root / "logs"

    @property
    def secrets(self) -> Path:
        """Secrets, which only workers are given."""
        return self.root / "secrets"

    @property
    def bundles(self) -> Path:
        """The working directories that were submitted with jobs, by content."""
        return self.root / "bundles"

    @property
    def functions(self) -> Path:
        """The functions that this user has sent to jobs, and their results."""
        return self.root / "functions"


def home_folder(environment: Mapping[str, str]) -> Path:
    """The folder where Muster keeps this user's files on this machine."""
    return Path(environment.get(VARIABLE) or DEFAULT).expanduser()
