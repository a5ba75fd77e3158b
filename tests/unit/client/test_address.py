import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster.client.address import find_address, find_server
from muster.model.errors import InvalidInput, Unreachable
from muster.processes import entry

HERE = "http://127.0.0.1:8470"
FAR = "https://muster.example.org"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("local-secret\n", "utf-8")
    announce(tmp_path)
    return tmp_path


def announce(home: Path, **changes: object) -> None:
    """Say that this very process is the server."""
    own = entry(os.getpid())
    assert own is not None
    record = {"url": HERE, "pid": own.pid, "start_ticks": own.start_ticks, **changes}
    (home / "server.json").write_text(json.dumps(record), "utf-8")


def test_the_server_on_this_machine_is_found_under_home(home: Path) -> None:
    address = find_address(environment={"MUSTER_HOME": str(home)})
    assert (address.url, address.token) == (HERE, "local-secret")


def test_the_environment_wins_over_files(home: Path) -> None:
    environment = {"MUSTER_HOME": str(home), "MUSTER_URL": f"{FAR}/", "MUSTER_TOKEN": "mine"}
    address = find_address(environment=environment)
    assert (address.url, address.token) == (FAR, "mine")


def test_what_is_passed_in_wins_over_the_environment(home: Path) -> None:
    environment = {"MUSTER_HOME": str(home), "MUSTER_URL": FAR, "MUSTER_TOKEN": "mine"}
    address = find_address(HERE, "yours", environment=environment)
    assert (address.url, address.token) == (HERE, "yours")


def test_a_login_wins_over_the_server_on_this_machine(home: Path) -> None:
    (home / "login.json").write_text(json.dumps({"url": FAR, "token": "far-secret"}), "utf-8")
    address = find_address(environment={"MUSTER_HOME": str(home)})
    assert (address.url, address.token) == (FAR, "far-secret")


def test_the_token_of_this_machine_never_leaves_it(home: Path) -> None:
    assert find_address(FAR, environment={"MUSTER_HOME": str(home)}).token == ""


def test_another_server_on_this_machine_does_not_get_its_token(home: Path) -> None:
    for url in ("http://localhost:9", "http://127.0.0.1:8471", "http://localhost:8470"):
        assert find_address(url, environment={"MUSTER_HOME": str(home)}).token == ""


@pytest.mark.parametrize("changes", [{"start_ticks": 1}, {"start_ticks": None}, {"pid": 1 << 30}, {"pid": "1"}])
def test_a_server_that_has_died_is_not_shown_a_token_because_another_may_have_its_port(
    home: Path, changes: dict[str, object]
) -> None:
    announce(home, **changes)
    address = find_address(environment={"MUSTER_HOME": str(home)})
    assert (address.url, address.token) == (HERE, "")
    assert find_server(home) is None
    assert find_address(environment={"MUSTER_HOME": str(home), "MUSTER_TOKEN": "mine"}).token == "mine"


def test_without_any_server_the_message_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="muster up"):
        find_address(environment={"MUSTER_HOME": str(tmp_path)})


def test_a_broken_file_counts_as_none(home: Path) -> None:
    (home / "server.json").write_text("{", "utf-8")
    with pytest.raises(Unreachable):
        find_address(environment={"MUSTER_HOME": str(home)})


@pytest.mark.parametrize("url", ["127.0.0.1:8470", "ftp://host", "http://", "http://host:port", "http://host:99999"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="not the address of a server"):
        find_address(url, environment={"MUSTER_HOME": "nowhere"})


def test_muster_and_its_answers_load_no_http_library() -> None:
    program = "import sys, muster, muster.client.answers, muster.cli.main; print('httpx' in sys.modules); muster.Client"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_several_addresses_are_separated_by_commas(home: Path) -> None:
    environment = {"MUSTER_HOME": str(home), "MUSTER_URL": f"{FAR}/, {HERE}", "MUSTER_TOKEN": "mine"}
    address = find_address(environment=environment)
    assert (address.url, [each.url for each in address.others]) == (FAR, [HERE])
    assert {each.token for each in address.others} == {"mine"}


def test_each_of_several_servers_gets_only_the_token_that_is_meant_for_it(home: Path) -> None:
    address = find_address(f"{FAR},{HERE}", environment={"MUSTER_HOME": str(home)})
    assert (address.token, [each.token for each in address.others]) == ("", ["local-secret"])


def test_one_wrong_address_of_several_is_said(home: Path) -> None:
    with pytest.raises(InvalidInput, match="ftp"):
        find_address(f"{HERE},ftp://far", environment={"MUSTER_HOME": str(home)})


def test_control_planes_that_stand_by_on_this_machine_are_found_too(home: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        found = entry(child.pid)
        assert found is not None
        record = {"url": "http://127.0.0.1:8471", "pid": found.pid, "start_ticks": found.start_ticks}
        (home / "standbys").mkdir()
        (home / "standbys" / f"{child.pid}.json").write_text(json.dumps(record), "utf-8")
        (home / "standbys" / "dead.json").write_text(json.dumps({**record, "start_ticks": 1}), "utf-8")
        address = find_address(environment={"MUSTER_HOME": str(home)})
        assert [(each.url, each.token) for each in address.others] == [("http://127.0.0.1:8471", "local-secret")]
    finally:
        child.communicate(b"\n")
