import re
from pathlib import Path

import muster
from muster import home
from muster.home import Home, home_folder

SOURCES = Path(muster.__file__).parent


def test_home_is_a_folder_of_the_user_unless_said_otherwise() -> None:
    assert home_folder({}) == Path.home() / ".muster"
    assert home_folder({"MUSTER_HOME": "~/m"}) == Path.home() / "m"


def test_everything_lies_under_home() -> None:
    kept = Home(Path("/m"))
    assert kept.node("n1") == Path("/m/nodes/n1")
    places = (kept.database, kept.token, kept.login, kept.server, kept.server_log, kept.server_output, kept.logs)
    assert all(place.parent == kept.root for place in (*places, kept.nodes, kept.secrets))


def test_what_lies_there_is_spelt_in_one_place_only() -> None:
    spelt = re.compile(r'"(server\.(json|log|out)|login\.json|muster\.db|~?/?\.muster)"|/ "(nodes|logs|secrets|token)"')
    others = (path for path in SOURCES.rglob("*.py") if path != Path(home.__file__))
    assert [str(path) for path in others if spelt.search(path.read_text("utf-8"))] == []
