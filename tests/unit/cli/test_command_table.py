"""The table of commands says what the files list, and a command imports only what it needs."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from muster.cli import command_table
from muster.cli.command_table import FILES, LISTED, CommandTable, commands_of
from tests.unit.client.fake_server import a_running_job

FOLDER = Path(command_table.__file__).parent


def listing_files() -> list[str]:
    """The files below `cli` that list commands."""
    found = []
    for path in sorted(FOLDER.rglob("*.py")):
        body = ast.parse(path.read_text("utf-8")).body
        targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
        if any(isinstance(target, ast.Name) and target.id == "listing" for target in targets):
            found.append(".".join(path.relative_to(FOLDER).with_suffix("").parts))
    return found


@pytest.mark.parametrize("file", listing_files())
def test_every_command_that_a_file_lists_is_in_the_table(file: str) -> None:
    assert sorted(commands_of(file)) == sorted(name for name, known in FILES.items() if known == file)


def test_every_name_in_the_table_leads_to_its_command() -> None:
    table = CommandTable()
    assert {name: table[name].name for name in table} == {name: name for name in FILES}
    assert len(table) == len(FILES)
    assert "no-such-command" not in table


@pytest.mark.parametrize("name", LISTED)
def test_the_list_of_commands_says_what_the_command_says_of_itself(name: str) -> None:
    command = CommandTable()[name]
    assert LISTED[name].help == (command.short_help or command.help).split("\n\n")[0]
    assert LISTED[name].panel == command.rich_help_panel
    assert not command.hidden


NOT_FOR_A_LIST = (
    "pydantic",
    "rich",
    "textual",
    "yaml",
    "fastapi",
    "sqlalchemy",
    "plotly",
    "websockets",
    "muster.core",
    "muster.sim",
)
"""What `muster ps` does not need, and each of which costs a tenth of a second or leads to something that does."""


def imported_by(*words: str, url: str) -> list[str]:
    """The modules that a command has imported when it ends, in a process of its own."""
    program = (
        "import sys\n"
        "from muster.cli.main import main\n"
        "try:\n    main()\nfinally:\n    sys.stderr.write('\\n'.join(['MODULES', *sorted(sys.modules)]))\n"
    )
    environment = {**os.environ, "MUSTER_URL": url, "MUSTER_TOKEN": "secret"}
    done = subprocess.run(
        [sys.executable, "-c", program, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.partition("MODULES\n")[2].split()


def needless(modules: list[str], *allowed: str) -> list[str]:
    unwanted = [name for name in NOT_FOR_A_LIST if name not in allowed]
    return [each for each in modules if any(each == name or each.startswith(f"{name}.") for name in unwanted)]


@pytest.fixture
def address() -> Iterator[str]:
    """A server on this machine that knows one job."""
    page = json.dumps({"items": [a_running_job()], "next": None}).encode()
    one = json.dumps(a_running_job()).encode()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page if self.path.startswith("/v1/jobs?") else one
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as served:
        Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def test_the_version_is_printed_without_anything_that_draws_or_talks(address: str) -> None:
    modules = imported_by("--version", url=address)
    assert needless(modules) == []
    assert [each for each in modules if each.startswith(("httpx", "muster.client", "muster.cli.commands."))] == []


TALKING = ("attach", "demo", "exec")
"""Commands that pass on what other programs say."""


def test_every_command_that_prints_something_of_its_own_prints_json_if_asked() -> None:
    commands = {name: command for file in dict.fromkeys(FILES.values()) for name, command in commands_of(file).items()}
    single = {
        f"{name} {inner}".strip(): each
        for name, command in commands.items()
        for inner, each in (getattr(command, "commands", None) or {"": command}).items()
    }
    silent = [name for name, command in single.items() if not any("-o" in option.opts for option in command.params)]
    assert sorted(silent) == sorted(TALKING)


def test_the_list_of_all_commands_imports_none_of_them(address: str) -> None:
    modules = imported_by("--help", url=address)
    assert [each for each in modules if each.startswith(("muster.cli.commands", "muster.cli.server"))] == []
    assert needless(modules, "rich") == []


def test_completing_the_name_of_a_command_imports_none_of_them(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MUSTER_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "muster s")
    monkeypatch.setenv("COMP_CWORD", "1")
    modules = imported_by(url=address)
    assert "muster.cli.command_table" in modules
    assert [each for each in modules if each.startswith(("muster.cli.commands", "muster.cli.server"))] == []


@pytest.mark.parametrize("words", [["ps", "-q"], ["ps", "-o", "json", "--limit", "3"], ["show", "job-1", "-o", "json"]])
def test_a_command_for_programs_imports_nothing_that_draws(address: str, words: list[str]) -> None:
    modules = imported_by(*words, url=address)
    assert "muster.client.client" in modules
    assert needless(modules) == []


@pytest.mark.parametrize(("words", "allowed"), [(["ps"], ["rich"]), (["show", "job-1"], ["rich", "yaml"])])
def test_a_drawing_of_jobs_imports_only_what_draws_it(address: str, words: list[str], allowed: list[str]) -> None:
    assert needless(imported_by(*words, url=address), *allowed) == []


def test_the_commands_of_slurm_leave_out_the_command_line_of_the_http_client_and_that_of_muster() -> None:
    program = "import sys, muster.slurm.squeue, muster.slurm.srun_job as _; print(sys.modules['httpx._main'])"
    more = "print([name for name in ('typer', 'rich', 'websockets') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", f"{program}; {more}"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["None", "[]"]


def test_a_job_file_is_read_without_what_reads_scripts_and_other_files(address: str, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("name: train\nrun: python train.py\n")
    modules = imported_by("submit", str(job), "--print", "-o", "json", url=address)
    assert "muster.formats.jobs.job_file" in modules
    assert [each for each in modules if each.startswith(("muster.formats.sbatch", "tomllib", "httpx"))] == []
    assert needless(modules, "pydantic", "yaml") == []
