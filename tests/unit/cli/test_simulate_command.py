import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from muster.cli.main import app
from muster.cli.simulation.figures_table import duration, print_figures

runner = CliRunner()

TRACE = """job_id,submit_s,duration_s,gpus,team
a,0,100,6,x
b,10,50,4,y
c,20,5,2,x
"""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "tiny.csv"
    path.write_text(TRACE, "utf-8")
    return str(path)


def simulated(trace: str, *arguments: str) -> object:
    result = runner.invoke(app, ["simulate", "--trace", trace, "--cluster", "1x8", "-o", "json", *arguments])
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def refused(trace: str, *arguments: str) -> str:
    result = runner.invoke(app, ["simulate", "--trace", trace, *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


def test_one_policy_is_one_object(trace: str) -> None:
    figures = simulated(trace, "--policy", "fifo")
    assert isinstance(figures, dict)
    assert (figures["policy"], figures["jobs"], figures["finished"]) == ("fifo", 3, 3)
    assert figures["jct_s"]["mean"] == round((100 + 140 + 85) / 3, 3)


def test_a_sample_trace_is_in_the_package() -> None:
    done = runner.invoke(app, ["simulate", "--trace", "sample", "--policy", "fifo", "--first", "50", "-o", "json"])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["finished"] == 50


def test_several_policies_are_a_list_in_the_order_asked_for(trace: str) -> None:
    figures = simulated(trace, "--policy", "greedy,fifo")
    assert isinstance(figures, list)
    assert [each["policy"] for each in figures] == ["greedy", "fifo"]


def test_a_variation_adds_its_key(trace: str) -> None:
    figures = simulated(trace, "--policy", "fifo", "--vary", "nodes=1..2:1")
    assert isinstance(figures, list)
    assert [each["nodes"] for each in figures] == [1, 2]
    assert figures[0]["jct_s"]["mean"] > figures[1]["jct_s"]["mean"]


def test_what_lies_between_two_ends_without_a_step_is_not_replayed_and_that_is_said(trace: str) -> None:
    arguments = ["--cluster", "1x8", "--policy", "fifo", "-o", "json", "--vary", "nodes=1..3"]
    result = runner.invoke(app, ["simulate", "--trace", trace, *arguments])
    assert [each["nodes"] for each in json.loads(result.stdout)] == [1, 3]
    assert result.stderr.startswith("muster: --vary nodes=1..3: without a step only its two ends are replayed")


def test_options_change_what_is_replayed(trace: str) -> None:
    figures = simulated(trace, "--policy", "fifo", "--first", "2", "--arrivals", "0.5", "--synthesise", "--seed", "2")
    assert isinstance(figures, dict)
    assert figures["jobs"] == 2
    assert figures["jct_s"]["mean"] == (100 + 130) / 2


def test_the_table_shows_all_policies(trace: str) -> None:
    arguments = ["--cluster", "1x8", "--policy", "fifo,greedy"]
    result = runner.invoke(app, ["simulate", "--trace", trace, *arguments], env={"COLUMNS": "160"})
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["fifo", "greedy"]
    assert "1m48s" in lines[-2]


def test_what_does_not_exist_is_a_dash_in_the_table_and_never_the_best() -> None:
    no_values = {"mean": None, "p50": None, "p99": None}
    made = {"finished": 3, "unfinished": 0, "jct_s": {"mean": 7.0, "p50": 7.0, "p99": 7.0}, "makespan_s": 9.0}
    none = {"finished": 0, "unfinished": 3, "jct_s": no_values, "makespan_s": None}
    rest = {"jobs": 3, "rejected": 0, "first_wait_s": no_values, "rho": {"worst": None, "unfair_fraction": None}}
    names = ("utilisation", "goodput", "fragmentation", "preemptions_per_job", "lost_fraction", "cpu_s")
    figures = rest | dict.fromkeys(names)
    stream = StringIO()
    rows = [{"policy": "fifo"} | figures | made, {"policy": "las"} | figures | none]
    print_figures(rows, console=Console(file=stream, width=160))
    fifo, las = (line.split() for line in stream.getvalue().splitlines()[-2:])
    assert fifo[:8] == ["fifo", "3", "3", "0", "7s", "7s", "7s", "–"]
    assert las[:8] == ["las", "3", "0", "3", "–", "–", "–", "–"]


def test_jobs_that_do_not_finish_are_said_on_stderr(tmp_path: Path) -> None:
    trace = tmp_path / "limited.csv"
    trace.write_text("job_id,submit_s,duration_s,gpus,max_duration_s\na,0,1000,1,1000\nb,0,1000,1,\n", "utf-8")
    slow = ["--faults", "straggler=1m,straggler_speed=0.1,straggler_time=1d"]
    result = runner.invoke(app, ["simulate", "--trace", str(trace), "--cluster", "1x8", "--policy", "fifo", *slow])
    assert result.exit_code == 0
    assert "fifo: 1 of 2 jobs did not finish, and no completion time counts them" in result.stderr
    assert "fifo: 1 job was stopped at its limit" in result.stderr


def test_jobs_of_which_too_little_is_known_are_said_on_stderr(tmp_path: Path) -> None:
    trace = tmp_path / "log.swf"
    rest = "-1 " * 9
    trace.write_text(f"1 0 0 10 1 -1 -1 1 -1 {rest}\n2 5 0 -1 1 -1 -1 1 -1 {rest}\n", "utf-8")
    result = runner.invoke(app, ["simulate", "--trace", str(trace), "--cluster", "1x8", "--policy", "fifo,greedy"])
    assert result.exit_code == 0
    assert result.stderr.count("muster: log: 1 job was left out") == 1


def test_rows_that_ask_for_nothing_are_in_the_note_the_figures_and_the_report(tmp_path: Path) -> None:
    path, html = tmp_path / "real.csv", tmp_path / "report.html"
    path.write_text(f"{TRACE}n1,5,7,0,x\nn2,6,8,,y\n", "utf-8")
    arguments = ["simulate", "--trace", str(path), "--cluster", "1x8", "--policy", "fifo", "-o", "json"]
    result = runner.invoke(app, [*arguments, "--html", str(html)])
    assert result.exit_code == 0
    assert "real: 2 rows ask for no resources: they ran at once" in result.stderr
    figures = json.loads(result.stdout)
    assert (figures["jobs"], figures["finished"], figures["without_resources"]) == (5, 5, 2)
    assert figures["jct_s"]["mean"] == round((100 + 140 + 85) / 3, 3)
    page = html.read_text("utf-8")
    assert "2 rows ask for no resources: they ran at once" in page
    assert "… that ask for nothing" in page


def test_jobs_that_never_save_themselves_begin_anew(tmp_path: Path) -> None:
    trace = tmp_path / "tiers.csv"
    trace.write_text(
        "job_id,submit_s,duration_s,gpus,tier\nlow,0,3600,8,exploratory\nhigh,1800,600,8,production\n", "utf-8"
    )
    for every, cost, lost, makespan in (("30m", "0s", 0, 4200), ("30m", "1m", 0, 4260), ("0s", "1m", 14_400, 6000)):
        saves = ("--checkpoint-every", every, "--checkpoint-cost", cost)
        figures = simulated(str(trace), "--policy", "muster", *saves)
        assert isinstance(figures, dict)
        assert (figures["lost_gpu_s"], figures["makespan_s"]) == (lost, makespan)


def test_the_table_shows_what_is_varied(trace: str) -> None:
    arguments = ["--cluster", "1x8", "--policy", "fifo", "--vary", "restart_cost=0s..30s:30s"]
    result = runner.invoke(app, ["simulate", "--trace", trace, *arguments], env={"COLUMNS": "160"})
    assert [line.split()[:2] for line in result.stdout.splitlines()[-2:]] == [["fifo", "0"], ["fifo", "30"]]


def test_a_narrow_terminal_gets_a_column_for_each_policy(trace: str) -> None:
    arguments = ["--cluster", "1x8", "--policy", "fifo,greedy"]
    lines = runner.invoke(app, ["simulate", "--trace", trace, *arguments], env={"COLUMNS": "60"}).stdout.splitlines()
    assert lines[0].split() == ["policy", "fifo", "greedy"]
    assert [line.split()[0] for line in lines[1:4]] == ["jobs", "finished", "unfinished"]
    assert "JCT mean" in lines[4]
    assert "…" not in "".join(lines)


def test_the_cluster_beside_the_trace_is_taken(trace: str) -> None:
    assert "say on which cluster to replay" in refused(trace, "--policy", "fifo")
    Path(trace).with_name("tiny.cluster.json").write_text('{"nodes": [{"count": 2, "gpus": 8}]}', "utf-8")
    result = runner.invoke(app, ["simulate", "--trace", trace, "--policy", "fifo", "-o", "json"])
    assert json.loads(result.stdout)["utilisation"] == 0.5


def test_on_a_cluster_given_in_numbers_any_gpu_is_of_any_type(tmp_path: Path) -> None:
    trace = tmp_path / "typed.csv"
    trace.write_text("job_id,submit_s,duration_s,gpus,gpu_type\n1,0,60,8,h100\n2,0,60,8,a100\n3,0,60,8,\n", "utf-8")
    result = runner.invoke(
        app, ["simulate", "--trace", str(trace), "--cluster", "3x8", "--policy", "fifo", "-o", "json"]
    )
    assert (json.loads(result.stdout)["finished"], json.loads(result.stdout)["rejected"]) == (3, 0)
    assert "2 rows name a type of GPU: they run on any GPU" in result.stderr


def test_a_trace_without_teams_is_replayed_under_a_team_tree(trace: str, tmp_path: Path) -> None:
    rows = Path(trace).with_name("teamless.csv")
    rows.write_text("job_id,submit_s,duration_s,gpus\n1,0,60,8\n", "utf-8")
    cluster = tmp_path / "scenario.yaml"
    cluster.write_text(SCENARIO + "teams: {x: {limit: {'*': 6}}}\n", "utf-8")
    result = runner.invoke(
        app, ["simulate", "--trace", str(rows), "--cluster", str(cluster), "--policy", "fifo", "-o", "json"]
    )
    assert json.loads(result.stdout)["finished"] == 1


def test_a_scenario_brings_its_rules(trace: str, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        "now: 2026-01-01T00:00:00Z\n"
        "cluster: {nodes: [{name: n1, gpus: 8, gpu_type: h100, pool: spot}]}\n"
        "pools: {spot: {spot: true}}\n"
        "teams: {x: {limit: {h100: 6}}, y: {weight: 2}}\n",
        "utf-8",
    )
    arguments = ["--cluster", str(scenario), "--policy", "greedy", "--faults", "spot=30d", "-o", "json"]
    result = runner.invoke(app, ["simulate", "--trace", trace, *arguments])
    figures = json.loads(result.stdout)
    assert figures["wait_by_team_s"]["x"]["p99"] == 80


SCENARIO = "now: 2026-01-01T00:00:00Z\ncluster: {nodes: [{name: n1, gpus: 8}]}\n"
UNUSED = "policy: {min_runtime: 6h}\nwaiting: []\nmood: good\n"


@pytest.mark.parametrize(
    ("text", "options", "note"),
    [
        (SCENARIO, (), ""),
        ("owner: me\nnodes: [{name: n1, gpus: 8}]\n", (), ""),
        (
            SCENARIO + UNUSED,
            (),
            "policy, mood are not used in a replay; to try its policy name the file in --policy",
        ),
        ("nodes: [{name: n1, gpus: 8}]\npools: {main: {}}\n", (), "pools is not used in a replay"),
        (SCENARIO + "running: [{id: a}]\n", (), "running is not used in a replay; jobs come from --trace"),
        (
            SCENARIO + "teams: {x: {}, y: {}}\n",
            ("--teams", "TEAMS"),
            "teams is not used in a replay; those of --teams count instead",
        ),
    ],
)
def test_what_a_cluster_file_says_for_nothing_is_said_on_stderr(
    text: str, options: tuple[str, ...], note: str, trace: str, tmp_path: Path
) -> None:
    file, teams = tmp_path / "cluster.yaml", tmp_path / "teams.yaml"
    file.write_text(text, "utf-8")
    teams.write_text("teams: {x: {}, y: {}}\n", "utf-8")
    words = [str(teams) if word == "TEAMS" else word for word in options]
    result = runner.invoke(app, ["simulate", "--trace", trace, "--cluster", str(file), "--policy", "fifo", *words])
    assert (result.exit_code, result.stderr) == (0, f"muster: {file}: {note}\n" if note else "")


def test_jobs_that_never_fit_are_said_on_stderr(trace: str) -> None:
    result = runner.invoke(app, ["simulate", "--trace", trace, "--cluster", "1x4", "--policy", "fifo", "-o", "json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["rejected"] == 1
    assert "muster: fifo: 1 job can never run on this cluster and is left out" in result.stderr


def test_which_replay_is_meant_is_said_on_stderr(trace: str) -> None:
    arguments = ["--cluster", "1x4", "--policy", "fifo", "--vary", "restart_cost=0s..1s:1s"]
    result = runner.invoke(app, ["simulate", "--trace", trace, *arguments])
    assert "muster: fifo, restart_cost 0: 1 job can never run" in result.stderr
    assert "muster: fifo, restart_cost 1: 1 job can never run" in result.stderr


def test_a_cluster_that_no_job_fits_is_wrong_use(trace: str) -> None:
    assert "no job of tiny can ever run on this cluster" in refused(trace, "--cluster", "1x1", "--policy", "fifo")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--policy", "fifi"), "there is no policy 'fifi'"),
        (("--policy", "fifo,easy, fifo"), "--policy names fifo 2 times; once is enough"),
        (("--policy", "fifo,"), "there is no policy ''"),
        (("--policy", "fifo", "--cluster", "8"), "'8' is not a cluster: write nodes x GPUs, such as 75x8"),
        (("--policy", "fifo", "--cluster", "-1x4"), "'-1x4' is not a cluster"),
        (("--policy", "fifo", "--cluster", "1x4x4"), "'1x4x4' is not a cluster"),
        (("--policy", "fifo", "--cluster", "4x0"), "4x0: no node has a GPU, and every job of tiny needs some"),
        (("--policy", "fifo", "--cluster", "8.yaml"), "8.yaml: there is no such file"),
        (("--policy", "fifo", "--restart-cost", "soon"), "--restart-cost must be a duration"),
        (("--policy", "fifo", "--faults", "mtfb=3d"), "'mtfb' is not a fault"),
        (("--policy", "fifo", "--faults", "spot=3d"), "faults: spot needs a scenario"),
        (("--policy", "fifo", "--faults", "mtbf=3d,rack=0.1"), "faults: rack needs a cluster file"),
        (("--policy", "fifo", "--faults", "rack=0.1"), "give mtbf as well"),
        (("--policy", "fifo", "--faults", "mtbf=1s"), "mtbf must be at least 1m"),
        (("--policy", "fifo", "--arrivals", "0"), "--arrivals must be a number above 0"),
        (("--policy", "fifo", "--arrivals", "x"), "--arrivals must be a number above 0"),
        (
            ("--policy", "fifo", "--arrivals", "1e-300"),
            "arrivals of 1E-300 are too slow: the last job would come later",
        ),
        (("--policy", "fifo", "--arrivals", "1e-12"), "arrivals of 1E-12 are too slow"),
        (("--policy", "fifo", "--arrivals", "1e-9999999"), "are too slow"),
        (("--policy", "fifo", "--vary", "arrivals=1e-12..1"), "arrivals of 1E-12 are too slow"),
        (("--policy", "fifo", "--vary", "x=1"), "'x' cannot be varied"),
        (("--policy", "fifo", "--teams", "nowhere.yaml"), "nowhere.yaml: there is no such file"),
        (("--policy", "fifo", "--html", "no/such/folder/r.html"), "the report cannot be written"),
    ],
)
def test_wrong_use_exits_with_2_and_says_what_to_do(trace: str, arguments: tuple[str, ...], problem: str) -> None:
    cluster = () if "--cluster" in arguments else ("--cluster", "1x8")
    result = runner.invoke(app, ["simulate", "--trace", trace, *cluster, *arguments])
    assert result.exit_code == 2
    assert problem in result.stderr


def test_a_cluster_without_nodes_is_wrong_use(trace: str, tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    file.write_text('{"nodes": []}', "utf-8")
    found = refused(trace, "--cluster", str(file), "--policy", "fifo")
    assert f"{file}: there are no nodes to replay on; name some under nodes" in found


def test_a_trace_that_is_not_there_is_wrong_use() -> None:
    assert "nowhere.csv" in refused("nowhere.csv", "--cluster", "1x8", "--policy", "fifo")


def test_teams_of_the_trace_must_be_in_the_tree(trace: str, tmp_path: Path) -> None:
    teams = tmp_path / "teams.yaml"
    teams.write_text("teams: {x: {weight: 2}}\n", "utf-8")
    found = refused(trace, "--cluster", "1x8", "--policy", "fifo", "--teams", str(teams))
    assert "teams that the team tree does not name: y" in found


def test_a_report_is_written(trace: str, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    arguments = ["--cluster", "1x8", "--policy", "fifo,greedy", "--html", str(report)]
    result = runner.invoke(app, ["simulate", "--trace", trace, *arguments])
    assert result.exit_code == 0
    assert str(report) in result.stderr.replace("\n", "")
    assert report.read_text("utf-8").lower().startswith("<!doctype html>")


@pytest.fixture
def no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the replay has begun")

    monkeypatch.setattr("muster.sim.replay.replay", refuse)


@pytest.mark.usefixtures("no_replay")
@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("no/such/r.html", "there is no folder"),
        (".", "this is a folder"),
        ("tiny.csv", "it would replace an input of the replay"),
        ("link.html", "it would replace an input of the replay"),
        ("teams.yaml", "it would replace an input of the replay"),
        ("tiny.cluster.json", "it would replace an input of the replay"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_replay(trace: str, place: str, problem: str) -> None:
    folder = Path(trace).parent
    (folder / "tiny.cluster.json").write_text('{"nodes": [{"count": 2, "gpus": 8}]}', "utf-8")
    (folder / "teams.yaml").write_text("teams: {x: {}, y: {}}\n", "utf-8")
    (folder / "link.html").symlink_to(trace)
    teams = ("--teams", str(folder / "teams.yaml"))
    assert problem in refused(trace, "--policy", "fifo", *teams, "--html", str(folder / place))
    assert Path(trace).read_text("utf-8") == TRACE


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.6, "59s"), (3600, "1h0m"), (90_061, "1d1h"), (65, "1m5s")]
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text
