"""What lies where under Muster's home. Pure: names only; whoever reads or writes them is elsewhere."""

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
        """Events, tokens and audit, unless another database is named."""
        return self.root / "muster.db"

    @property
    def token(self) -> Path:
        """The secret of the person whose machine this is."""
        return self.root / "token"

    @property
    def login(self) -> Path:
        """The server elsewhere that commands go to, with its token."""
        return self.root / "login.json"

    @property
    def server(self) -> Path:
        """Where the running server is, and which process it is."""
        return self.root / "server.json"

    @property
    def server_log(self) -> Path:
        """What the server logs."""
        return self.root / "server.log"

    @property
    def server_output(self) -> Path:
        """What a server in the background prints, since it was started last."""
        return self.root / "server.out"

    @property
    def nodes(self) -> Path:
        """A folder for each node."""
        return self.root / "nodes"

    @property
    def layout(self) -> Path:
        """How this machine was divided when that was last said."""
        return self.root / "layout"

    def node(self, name: str) -> Path:
        """What the supervisor of one node keeps."""
        return self.nodes / name

    @property
    def logs(self) -> Path:
        """What workers printed."""
        return self.root / "logs"

    @property
    def secrets(self) -> Path:
        """What workers are given and nobody else."""
        return self.root / "secrets"


def home_folder(environment: Mapping[str, str]) -> Path:
    """Where Muster keeps what belongs to this user on this machine."""
    return Path(environment.get(VARIABLE) or DEFAULT).expanduser()
