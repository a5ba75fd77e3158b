"""Faults of operators: databases that are moved, lost and brought back, second homes, and a `down` beside the dead."""

import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

from muster.model.errors import MusterError, Unavailable
from tests.chaos.cluster import Started, command
from tests.chaos.evidence import Asked
from tests.chaos.faults import SQLITE, Hit, Kind, Stage, register
from tests.chaos.ledger import Run, now_s

NOTICED_S = 5.0
"""How long a control plane may take to notice that its database is not there any more."""
PROBED_S = 0.4
REFUSED_S = 30.0
"""How long a start may take that must be refused."""
HARM_S = 3.0
"""How long a server that should have been refused goes on, so that what it does is seen."""
TRIES = 3

_numbers = count(1)


def database_moved(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """An operator moves the database file away while it is in use, and back."""
    aside = _aside(stage)
    for path in _files(stage):
        path.rename(aside / path.name)

    def put_back() -> None:
        for path in aside.iterdir():
            path.replace(stage.cluster.database_file.parent / path.name)

    return _without_database(stage, "moved", hold_s, put_back)


def database_deleted(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """An operator deletes the database file while it is in use. A second name of it is kept to bring it back."""
    aside = _aside(stage)
    for path in _files(stage):
        (aside / path.name).hardlink_to(path)
        path.unlink()

    def put_back() -> None:
        for path in aside.iterdir():
            path.replace(stage.cluster.database_file.parent / path.name)

    return _without_database(stage, "deleted", hold_s, put_back)


def database_truncated(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """An operator empties the database file while it is in use; the copy that was just made is put back."""
    copy = _copied(stage)
    if copy is None:
        return None
    began_s = now_s()
    with stage.cluster.database_file.open("r+b") as file:
        file.truncate(0)
    hit = _without_database(stage, "truncated", hold_s, lambda: _restore(stage, copy))
    stage.evidence.rollbacks.append((began_s, now_s()))
    return hit


def old_backup(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """A backup is made, work goes on, and then the backup is put back."""
    began_s = now_s()
    copy = _copied(stage)
    if copy is None:
        return None
    stage.cluster.pause(hold_s)
    stage.cluster.kill_control()
    _restore(stage, copy)
    stage.evidence.rollbacks.append((began_s, now_s()))
    _bring_up(stage, "a restored backup")
    return Hit(detail=f"{hold_s:.1f} s old")


def second_home(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """An operator starts a server from another home on the same database: it must be refused and start nothing."""
    is_down = bool(pick % 2) and stage.cluster.kill_control()
    second = stage.folder / f"second-{next(_numbers)}"
    said = _must_be_refused(stage, lambda: stage.cluster.spawn(home=second), second, "second-home")
    if stage.cluster.supervisors(second):
        stage.found("second-home", f"supervisors were started in another home: {stage.cluster.supervisors(second)}")
        stage.cluster.run("down", "--jobs", home=second)
    if is_down:
        _bring_up(stage, "after a second home")
    return Hit(detail=f"{'without' if is_down else 'beside'} the first: {said[-100:].strip()}")


def take_over(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """The machine of the old home is given up: another home takes its database over, and fences its supervisors."""
    cluster = stage.cluster
    cluster.kill_control()
    former, fenced = cluster.home, cluster.supervisors()
    started = cluster.start("--take-over", home=stage.folder / f"second-{next(_numbers)}")
    if not started.is_up and _is_beside_a_store_that_is_away(started):
        # Half of it may be done: the home that began it goes on with it, and not the old one.
        return Hit(detail="put off")
    if not started.is_up:
        stage.found("take-over", f"refused with code {started.code}: {started.said[-300:].strip()}")
        cluster.kill_control()
        cluster.home = former
        _bring_up(stage, "after a takeover that failed")
        return Hit(detail="refused")
    left = [each for each in cluster.supervisors(former) if each in fenced]
    if left:
        stage.found("take-over", f"supervisors of the old home go on: {left}")
    return Hit(detail="taken over")


def empty_database(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """The server is started on an empty database beside nodes that run things: it must be refused."""
    is_full = (stage.cluster.home / "ballast").exists()  # it would be refused for that
    if is_full or not stage.watcher.living() or not stage.cluster.supervisors():
        return None
    stage.cluster.kill_control()
    if not stage.watcher.living():
        _bring_up(stage, "after nothing")
        return None
    empty = f"sqlite:///{stage.folder}/empty-{next(_numbers)}.db"
    home = stage.cluster.home
    running = {run.pid for run in stage.watcher.living()}
    said = _must_be_refused(
        stage,
        lambda: stage.cluster.spawn(database=empty),
        home,
        "empty-database",
        is_due=lambda: any(run.pid in running for run in stage.watcher.living()),
    )
    if said and "--new-database" not in said:
        stage.found("empty-database", f"the refusal does not say what to do: {said[-300:].strip()}")
    _bring_up(stage, "after an empty database")
    return Hit(detail=said[-100:].strip())


def new_database(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """The database is lost for good, and an operator begins a new one beside nodes that run things."""
    cluster = stage.cluster
    cluster.kill_control()
    former, cluster.database = cluster.database, f"sqlite:///{stage.folder}/new-{next(_numbers)}.db"
    started = cluster.start("--new-database")
    if not started.is_up and _is_beside_a_store_that_is_away(started):
        stage.evidence.resets.append(now_s())  # the nodes may obey the new one already
        return Hit(detail="put off")
    if not started.is_up:
        stage.found("new-database", f"refused with code {started.code}: {started.said[-300:].strip()}")
        cluster.kill_control()
        cluster.database = former
        _bring_up(stage, "after a new database that failed")
        return Hit(detail="refused")
    stage.evidence.resets.append(now_s())
    return Hit(detail="begun")


def down_jobs(stage: Stage, pick: int, hold_s: float) -> Hit | None:
    """Supervisors are dead, and an operator ends everything: nothing may be left, or what is left is named."""
    struck = stage.watcher.living()
    before = len(stage.watcher.runs())
    if pick % 2:
        stage.cluster.kill_control()
    for each in stage.cluster.supervisors():
        stage.send(each.pid, each.ticks, signal.SIGKILL)
    for _ in range(TRIES):
        ended = stage.cluster.run("down", "--jobs")
        left = _still_living(stage)
        if stage.cluster.is_up:
            break  # an `up` that had only just begun took its turn afterwards, and started what waited
        if ended.returncode == 0:
            for run in left:
                stage.found("down-jobs", f"exit code 0 although this lives: {run.name}; it said {ended.stdout.strip()}")
            break
        if left and not any(str(run.pid) in ended.stderr for run in left):
            stage.found("down-jobs", f"does not name what is left: {ended.stderr.strip()[-300:]}")
    else:
        stage.found("down-jobs", f"cannot end everything in {TRIES} tries: {ended.stderr.strip()[-300:]}")
    # A control plane that was there until it was told to go has started others meanwhile.
    struck += stage.watcher.runs()[before:]
    labels = tuple(dict.fromkeys(run.label for run in struck))
    _bring_up(stage, "after down --jobs")
    return Hit(detail=f"{len(labels)} jobs ran", labels=labels)


def _is_beside_a_store_that_is_away(started: Started) -> bool:
    """True when a start was refused because another fault keeps its store away: what is refused is said with code 5."""
    return started.code == Unavailable.exit_code


def _still_living(stage: Stage) -> list[Run]:
    """The processes that live; the watcher hears of a process that has just begun and ended a moment after both."""
    for _ in range(20):
        if not stage.watcher.living():
            return []
        time.sleep(0.05)
    return stage.watcher.living()


def _aside(stage: Stage) -> Path:
    """A folder on the same disk as the database."""
    made = stage.cluster.database_file.parent / f"aside-{next(_numbers)}"
    made.mkdir(mode=0o700)
    return made


def _files(stage: Stage) -> list[Path]:
    main = stage.cluster.database_file
    named = (main, main.with_name(f"{main.name}-wal"), main.with_name(f"{main.name}-shm"))
    return [path for path in named if path.exists()]


def _copied(stage: Stage) -> Path | None:
    """A copy of the database as an operator makes it, while it is in use."""
    copy = stage.folder / f"backup-{next(_numbers)}.db"
    try:
        with (
            closing(sqlite3.connect(f"file:{stage.cluster.database_file}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except sqlite3.Error:
        return None
    return copy


def _restore(stage: Stage, copy: Path) -> None:
    for path in _files(stage):
        path.unlink()
    shutil.copyfile(copy, stage.cluster.database_file)
    stage.cluster.database_file.chmod(0o600)


def _without_database(stage: Stage, what: str, hold_s: float, put_back: Callable[[], None]) -> Hit:
    """Look whether the server notices that its database is gone; then bring back what there was."""
    _probe(stage, what, hold_s)
    stage.cluster.kill_control()
    for path in _files(stage):  # what a server may have made in its place
        path.unlink()
    put_back()
    _bring_up(stage, f"after its database was {what}")
    return Hit(detail=f"for {hold_s:.1f} s")


def _probe(stage: Stage, what: str, hold_s: float) -> None:
    """Ask for changes until the time is over: once it must have noticed, none may be acknowledged."""
    began_s = now_s()
    while (after_s := now_s() - began_s) < hold_s:
        probed = _is_acknowledged(stage)
        health = stage.cluster.health()
        if after_s > NOTICED_S and (probed or health == (200, "ok")):
            stage.found(
                "database-gone",
                f"{after_s:.1f} s after its database was {what}, a change was {'' if probed else 'not '}acknowledged "
                f"and /healthz says {health}",
            )
            return
        stage.cluster.pause(PROBED_S)


def _is_acknowledged(stage: Stage) -> bool:
    """True when a small job is acknowledged; from then on it must not be lost either."""
    label = f"probe-{next(_numbers)}"
    script = {"folder": str(stage.folder), "label": label, "seconds": 0.2}
    with suppress(MusterError, OSError):
        job = stage.cluster.client().submit({"name": label, "team": "chaos", "run": command(script)})
        stage.evidence.asked.append(Asked(label=label, ends="succeeded", labels=(label,), id=job.id, acked_s=now_s()))
        return True
    return False


def _must_be_refused(
    stage: Stage,
    spawn: Callable[[], "subprocess.Popen[bytes]"],
    home: Path,
    rule: str,
    is_due: Callable[[], bool] = lambda: True,
) -> str:
    """Wait for a start to be refused, and say how it was; one that serves is ended after a while, and written down.

    What made it wrong may be over when the server looks; `is_due` says whether it still is.
    """
    begin = stage.cluster.output.stat().st_size
    announced = home / "server.json"
    announced.unlink(missing_ok=True)
    process = spawn()
    until_s = time.monotonic() + REFUSED_S
    while process.poll() is None and time.monotonic() < until_s and not announced.exists():
        stage.cluster.pause(0.05)
    if process.poll() is None and not is_due():
        process.kill()
        process.wait()
        announced.unlink(missing_ok=True)
        return ""
    if process.poll() is None:
        told = "a server was let in that must be refused" if announced.exists() else f"no refusal in {REFUSED_S:.0f} s"
        stage.found(rule, told)
        stage.cluster.pause(HARM_S)
        process.kill()
        process.wait()
        announced.unlink(missing_ok=True)
        return ""
    if process.returncode == 0:
        stage.found(rule, "a server that must be refused ended with exit code 0")
    return stage.cluster.said(begin)


def _bring_up(stage: Stage, when: str) -> None:
    """Start the server again, unless another fault keeps it down or what it needs is away."""
    if stage.downs:
        return
    started = stage.cluster.start()
    if not started.is_up and started.code is not None and stage.postgres is None:
        stage.found("does-not-start", f"{when}: exit code {started.code}: {started.said[-400:].strip()}")


for _kind in (
    Kind(name="database-moved", strike=database_moved, hold_s=(7.0, 9.0), databases=(SQLITE,)),
    Kind(name="database-deleted", strike=database_deleted, hold_s=(7.0, 9.0), databases=(SQLITE,)),
    Kind(name="database-truncated", strike=database_truncated, hold_s=(7.0, 9.0), databases=(SQLITE,), rewrites=True),
    Kind(name="old-backup", strike=old_backup, hold_s=(2.5, 5.0), databases=(SQLITE,), rewrites=True),
    Kind(name="second-home", strike=second_home),
    Kind(name="take-over", strike=take_over, rewrites=True),
    Kind(name="empty-database", strike=empty_database),
    Kind(name="new-database", strike=new_database, databases=(SQLITE,), rewrites=True),
    Kind(name="down-jobs", strike=down_jobs),
):
    register(_kind)
