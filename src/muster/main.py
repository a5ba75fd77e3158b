"""The composition root: with `api.sharing`, the only place that names concrete adapters.

python -m muster.main serve --home DIR …     what `muster up` runs
python -m muster.main down --home DIR        ends the supervisors of a home with everything that they run
"""

import gc

if __name__ == "__main__":
    # What is imported and read at the start stays alive. Looking for garbage in it would take a tenth of the start.
    gc.disable()

import argparse
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from muster.access.attempt_keyring import grant_job_access
from muster.access.local_token import local_token
from muster.access.shared_account import shared_account_warning
from muster.api.admission.checking import check_admission
from muster.api.app import create_app
from muster.api.deps import Agents, Audience, Deps, Settings
from muster.api.front.connections import missing_descriptors
from muster.api.front.hosts import allowed_hosts
from muster.api.lookups.estimate_file import ESTIMATES_FILE
from muster.api.problems.concealing import concealing
from muster.api.server import Listening, StopRequest, address_of, bound, serve
from muster.api.sharing import Sharing
from muster.backends.agents.mirrored_files import MirroredFiles
from muster.backends.local.backend import LocalBackend
from muster.backends.local.ending import all_node_folders, end_supervisors
from muster.backends.local.takeover import Charge, GoverningDatabase, Wanted, take_charge
from muster.core.doubtful_quotas import quota_doubts
from muster.formats.rules.database_url import VARIABLE as DATABASE_VARIABLE
from muster.formats.rules.database_url import database_files, is_shared, refuse_password
from muster.formats.rules.engines.agents import AgentsSettings
from muster.formats.rules.server_file import ServerSettings, read_server_file
from muster.home import DEFAULT, Home
from muster.live.address_file import announced, whereabouts
from muster.live.clock import SystemClock
from muster.live.configuration import Configuration, Fence, merge_notes
from muster.live.control_plane import ControlPlane
from muster.live.engine_nodes import EngineUse, Newcomers, with_engine_nodes
from muster.live.engines import engines_of
from muster.live.layout import Layout, find_layout
from muster.live.leadership.lease_keeper import Lease, Unshared
from muster.live.leadership.term import Term
from muster.live.logging import log_to, warn
from muster.live.node_settings import health_policy, node_settings
from muster.live.publishing.metrics import Metrics
from muster.live.stopping import ToldToStop, end_this_process, leave_on_signals
from muster.live.watching.health_watch import HealthWatch
from muster.live.watching.monitor import Monitor, Watch
from muster.live.watching.watches import watches_of
from muster.locks import alone_in, is_taken
from muster.model.errors import InvalidInput, MusterError
from muster.model.events import ObservedEvent
from muster.model.machines.ownership import Leadership
from muster.model.printable import printable
from muster.private_files import claim_folder
from muster.processes import root_warning
from muster.store.sql.store import SqlStore, open_store

DEFAULT_PORT = 8470

BUSY = "another control plane runs here; `muster down` ends it"

SIMULATOR = (sys.executable, "-P", "-m", "muster.sim.what_if")
"""What answers what-if questions, in a process of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `serve`: from the command line first, then the environment, the file, and the defaults."""

    home: Path
    listening: Listening
    database: str
    found: Layout
    """The nodes that are described, or that this machine is."""
    layout: Layout
    """These, and the nodes that engines have."""
    settings: ServerSettings
    wanted: Wanted
    take_lead: bool = False
    """Whether to ask the control plane that leads to hand over."""
    uses: tuple[EngineUse, ...] = ()
    drop_changes: bool | None = None
    """Whether to drop what was changed at run time; None if that was not said."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands. A `MusterError` becomes one line on stderr and an exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        if parsed.command == "down":
            return _down(_home(parsed.home))
        return _serve(_options(parsed))
    except ToldToStop:
        return 0
    except MusterError as error:
        sys.stderr.write(f"muster: {printable(str(error))}\n")
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m muster.main")
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve")
    serving.add_argument("--home", default=DEFAULT)
    serving.add_argument("--host")
    serving.add_argument("--port", type=int)
    serving.add_argument("--nodes")
    serving.add_argument("--config")
    serving.add_argument("--database")
    serving.add_argument("--tls-certificate")
    serving.add_argument("--tls-key")
    for flag in ("insecure-bind", "take-over", "fenced", "new-database", "take-lead", "keep-changes", "drop-changes"):
        serving.add_argument(f"--{flag}", action="store_true")
    ending = commands.add_parser("down")
    ending.add_argument("--home", default=DEFAULT)
    ending.add_argument("--jobs", action="store_true", help="what it does anyway; said by `muster down --jobs`")
    return parser


def _options(given: argparse.Namespace) -> Options:
    if given.database:
        refuse_password(given.database)
    # Removed, so that no process that is started from here inherits it.
    named = os.environ.pop(DATABASE_VARIABLE, "")
    settings = ServerSettings() if given.config is None else read_server_file(given.config)
    home = _home(given.home)
    found = find_layout(home, settings, given.nodes)
    return Options(
        home=home,
        listening=Listening(
            host=given.host or settings.host or "127.0.0.1",
            port=next(port for port in (given.port, settings.port, DEFAULT_PORT) if port is not None),
            certificate=Path(given.tls_certificate) if given.tls_certificate else settings.tls_certificate,
            key=Path(given.tls_key) if given.tls_key else settings.tls_key,
            is_insecure_allowed=given.insecure_bind or settings.insecure_bind,
        ),
        database=given.database or named or settings.database or f"sqlite:///{Home(home).database}",
        found=found,
        layout=found,
        settings=settings,
        wanted=Wanted(home=home, take_over=given.take_over, is_fenced=given.fenced, new_database=given.new_database),
        take_lead=given.take_lead,
        drop_changes=True if given.drop_changes else False if given.keep_changes else None,
    )


def _home(named: str) -> Path:
    """Muster's folder, closed to other users."""
    home = Path(named).expanduser().resolve()
    claim_folder(home)
    return home


def _serve(options: Options) -> int:
    leave_on_signals()
    shares = is_shared(options.database)
    log_to(Home(options.home).server_log_of(options.listening.port, is_second=shares and is_taken(options.home)))
    warn(root_warning(), prefix="")
    # Bound first: a start that finds the port or the database in use must change nothing but the log.
    with closing(bound(options.listening)) as listener:
        if shares:
            with suppress(ToldToStop):
                _share(options, listener)
            return 0
        with alone_in(options.home, BUSY), open_store(options.database, write=True) as store:
            _lead(options, store, listener)
    return 0


def _share(options: Options, listener: socket.socket) -> None:
    """Lead, or stand by for another control plane on the same database and in the same home."""
    sharing = Sharing(
        home=options.home,
        database=options.database,
        urls=options.settings.urls,
        listener=listener,
        listening=options.listening,
        settings=_api_settings(options),
        take_over=options.wanted.take_over,
        take_lead=options.take_lead,
    )
    sharing.serve(lambda store, term, ending: _lead(options, store, listener, term, ending))


def _lead(
    options: Options,
    store: SqlStore,
    listener: socket.socket,
    term: Term | None = None,
    ending: StopRequest | None = None,
) -> bool:
    """Lead until a signal comes; then return True. With a term, also until its lease is over; then return False."""
    url = address_of(listener, options.listening)
    uses = engines_of(options.home, options.settings, url)
    layout = with_engine_nodes(options.found, uses, options.home)
    options = replace(options, layout=layout, uses=tuple(uses))
    with _control(options, store, url, term, ending) as (control, deps), ExitStack() as while_up:
        local_token(options.home, store.tokens, deps.clock.now_ms())
        for warning in _warnings(options, control, store):
            warn(warning)
        gc.freeze()
        gc.enable()
        control.start()

        def say(url: str) -> None:
            while_up.enter_context(announced(Home(options.home).server, whereabouts(url)))
            with suppress(OSError):  # the output may go to a full disk
                _greet(options, url)

        with suppress(ToldToStop):
            serve(create_app(deps), listener, options.listening, on_listening=say, ending=ending)
        if control.led_by_another is not None and term is None:
            raise control.led_by_another
    return ending is None or not ending.is_asked


@contextmanager
def _control(
    options: Options, store: SqlStore, url: str, term: Term | None, ending: StopRequest | None
) -> Iterator[tuple[ControlPlane, Deps]]:
    """The control plane with its store and its backend. When it ends, the workers go on."""
    charge = take_charge(options.wanted, _governing(store, term))
    options.found.keep(options.home)
    clock, metrics = SystemClock(), Metrics()
    lease: Lease = Unshared() if term is None else term.keeper
    backend = _backend(options, charge.leadership)
    backend.leads = lambda: lease.is_valid
    judged = health_policy(options.settings.health)
    watches = watches_of(options.home, backend, HealthWatch(judged, now_ms=clock.now_ms(), ask_test=backend.test))
    try:
        control = ControlPlane(
            log=store.log,
            states=store.states,
            archive=store.jobs,
            backend=backend,
            clock=clock,
            configuration=_configuration(options, _fence(charge, store)),
            on_round=metrics.on_round,
            on_step_down=end_this_process if ending is None else ending.ask,
            numbers_from=charge.highest_number,
            lease=lease,
        )
        if term is not None:
            term.keeper.is_working = lambda: control.is_working
        metrics.watch(control)
        backend.on_news = control.nudge
        metrics.watch_progress(watches.progress)
        monitor = _monitor((watches.health, watches.progress, watches.output, watches.images), control, backend, clock)
        deps = Deps(
            control=control,
            tokens=store.tokens,
            audit=store.audit,
            events=store.log,
            jobs=store.jobs,
            backend=backend,
            clock=clock,
            metrics=metrics,
            progress=watches.progress.progress,
            last_output_ms=watches.output.last_output_ms,
            kept_stacks=watches.stack_files.read,
            health=watches.health,
            job_key=grant_job_access(options.home, ",".join(options.settings.urls) or url).key,
            simulator=SIMULATOR,
            kept_estimates=options.home / ESTIMATES_FILE,
            agents=_agents(options, backend),
            bundles=Home(options.home).bundles,
            settings=_api_settings(options),
        )
        monitor.start()
        try:
            yield control, deps
        finally:
            monitor.stop()
            watches.hangs.close()
            control.stop()
    finally:
        backend.close()


def _backend(options: Options, leadership: Leadership) -> LocalBackend:
    return LocalBackend(
        options.home,
        options.layout.cluster.nodes,
        leadership=leadership,
        settings=node_settings(options.settings, is_shared=options.layout.is_shared),
        engines=tuple(use.engine for use in options.uses),
        admit=Newcomers(options.layout.cluster, options.uses, options.home),
    )


def _configuration(options: Options, fence: Fence | None) -> Configuration:
    return Configuration(
        cluster=options.layout.cluster,
        rules=options.settings.rules,
        drop_changes=bool(options.drop_changes),
        fence=fence,
    )


def _agents(options: Options, backend: LocalBackend) -> Agents:
    """What agents of nodes on other machines connect to."""
    engines = {engine.name for engine in options.settings.engines if isinstance(engine, AgentsSettings)}
    elsewhere = frozenset(node.name for node in options.layout.cluster.nodes if node.engine in engines)
    warn(missing_descriptors(len(elsewhere)))
    return Agents(
        switchboard=backend.switchboard,
        files=MirroredFiles(options.home, backend.has_run, backend.output_told),
        expects=lambda node: node in elsewhere or backend.expects(node),
    )


def _governing(store: SqlStore, term: Term | None) -> GoverningDatabase:
    """The database, whose record begins an epoch with a lease if there is a term."""
    record = store.cluster if term is None else term
    return GoverningDatabase(name=store.name, is_empty=not store.log.version, record=record)


def _api_settings(options: Options) -> Settings:
    return Settings(
        hosts=allowed_hosts(options.listening.host, options.settings.allowed_hosts),
        metrics=Audience(options.settings.metrics),
        conceal=concealing(options.home, database_files(options.database)),
    )


def _monitor(watches: Sequence[Watch], control: ControlPlane, backend: LocalBackend, clock: SystemClock) -> Monitor:
    return Monitor(
        watches,
        measured=backend.telemetry,
        view=lambda: control.view,
        now_ms=clock.now_ms,
        report=lambda verdicts: _hand_over(control, verdicts),
    )


def _hand_over(control: ControlPlane, verdicts: Sequence[ObservedEvent]) -> None:
    """Have verdicts written, without waiting. A verdict that is lost is found again at the next look."""
    control.ask(lambda engine, _: engine.observe(*verdicts))


def _fence(charge: Charge, store: SqlStore) -> Fence | None:
    if charge.last_words is None:
        return None
    return Fence(last_words=charge.last_words, on_recorded=store.cluster.forget_former)


def _greet(options: Options, url: str) -> None:
    nodes = options.layout.cluster.nodes
    gpus = sum(node.gpus for node in nodes)
    sys.stdout.write(
        f"Muster is up at {url}, with {len(nodes)} node{'s' * (len(nodes) != 1)} and {gpus} GPUs.\n"
        f"Its files and your token are in {options.home}. Stop it with Ctrl-C or `muster down`; jobs go on running.\n"
    )
    sys.stdout.flush()


def _warnings(options: Options, control: ControlPlane, store: SqlStore) -> Iterator[str]:
    """What an operator should know of before jobs come."""
    yield from options.layout.notes
    if control.merge is not None:
        yield from merge_notes(control.merge, is_told=options.drop_changes is not None)
    try:
        check_admission(control.view.rules.admission)
    except InvalidInput as error:
        yield f"{error}; until then its `on_error` says what becomes of jobs"
    yield from (doubt.message for doubt in quota_doubts(control.view.rules.teams, options.layout.cluster.nodes))
    yield shared_account_warning(store.tokens.all(), SystemClock().now_ms())


def _down(home: Path) -> int:
    """End every supervisor of a home with everything it runs. No control plane may start others meanwhile."""
    with alone_in(home, "a control plane runs here and would start jobs again; end it first"):
        end_supervisors(all_node_folders(home))
    return 0


if __name__ == "__main__":
    sys.exit(main())
