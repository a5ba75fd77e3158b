"""The containers of one node: which runtime it has, images, the ends of containers, and what nobody owns any more.

Every command runs as a process of its own with a time limit. Nothing here waits.
"""

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from muster.model.ids import JobId
from muster.model.instructions import StartWorkers
from muster.model.node_limits import (
    CONTAINER_END_MS,
    CONTAINER_ENDS_MOST,
    LEFTOVERS_LOOK_MS,
    PULLS_AHEAD_MOST,
    PULLS_REMEMBERED,
    RUNTIME_LOOK_MS,
)
from muster.worker.containers.images import OUTPUT_BYTES, Images, Pull, Pulled, WaitingWorker
from muster.worker.containers.inside import WorkerContainer
from muster.worker.containers.runtime import Runtime
from muster.worker.containers.settings import ContainerSettings
from muster.worker.launch.environment import TOKEN_VARIABLE
from muster.worker.launch.launch_spec import NodeContext
from muster.worker.launch.runtime_folder import claim
from muster.worker.loop import Loop
from muster.worker.processes.bounded_command import BoundedCommand, CommandEnd, CommandLimits
from muster.worker.processes.companions import Companions
from muster.worker.processes.strays import badge

END_AGAIN_MS = 1_000

NO_RUNTIME = "node {} has no container runtime that works ({}): install podman there, or leave out `image`"
NOT_ASKED = "node {} was not told to run containers"


class NodeContainers:
    """Runs the commands of the runtime."""

    def __init__(
        self,
        context: NodeContext,
        loop: Loop,
        companions: Companions,
        *,
        found: Callable[[], None] = lambda: None,
        living: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """`found` is called when it is known which runtime there is. `living` returns the tokens of all workers."""
        self._context = context
        self._loop = loop
        self._companions = companions
        self._found = found
        self._living = living
        self._badge = badge(context.home, context.node)
        self._asked: set[tuple[JobId, int, str, int]] = set()
        """Workers that wait for an image, by attempt, image and rank."""
        self._ahead: set[str] = set()
        """Images that are being pulled for jobs which have not started yet."""
        self._pulling: set[BoundedCommand] = set()
        self._images = Images(partial(self._run, kept=self._pulling))
        self._settings: ContainerSettings | None = None
        self._problems: list[str] = []
        self._waiting: list[Callable[[], None]] = []
        self._pulled: dict[tuple[JobId, int, str], Pulled] = {}
        """By attempt and image: what became of the image, for workers that are about to be started."""
        self._is_looking = False
        self.runtime: Runtime | None = None
        self.is_known = False
        """True once it is known whether there is a runtime."""

    def configure(self, settings: ContainerSettings) -> None:
        """Look for a runtime, unless it was looked for with these settings."""
        if settings == self._settings:
            return
        is_first, self._settings = self._settings is None, settings
        self._problems = []
        self._look_for(settings.candidates(self._store()), settings)
        if is_first:
            self._loop.after(LEFTOVERS_LOOK_MS, self._sweep_again)

    def outcome(
        self, start: StartWorkers, rank: int, told: Callable[[], None], begun: Callable[[], None]
    ) -> Pulled | None:
        """What became of the image of a worker; None until that is known, and then `told` is called.

        `begun` is called when the image is not there and has to be pulled. How long that took is said once.
        """
        key = (start.job, start.attempt, start.spec.image)
        known = self._pulled.get(key)
        if known is not None:
            self._pulled[key] = replace(known, took_ms=0)
            return known
        if self._settings is None:
            return Pulled(problem=NOT_ASKED.format(self._context.node))
        if not self.is_known:
            self._waiting.append(told)
            return None
        if self.runtime is None:
            return Pulled(problem=NO_RUNTIME.format(self._context.node, "; ".join(self._problems)))

        asked = (*key, rank)
        if asked in self._asked:
            return None
        self._asked.add(asked)

        def done(pulled: Pulled) -> None:
            self._asked.discard(asked)
            if len(self._pulled) >= PULLS_REMEMBERED:
                del self._pulled[next(iter(self._pulled))]
            self._pulled[key] = pulled
            told()
            if pulled.problem:  # the next attempt asks anew, and so does a worker that comes later
                self._pulled.pop(key, None)

        self._images.provide(
            self.runtime, start.spec.image, self._pull(self._settings), WaitingWorker(begun=begun, done=done)
        )
        return None

    def pull_ahead(self, images: Iterable[str]) -> None:
        """Have images here before a job needs them. What cannot be had now is asked for again when the job starts."""
        for image in images:
            if self.runtime is None or self._settings is None or len(self._ahead) >= PULLS_AHEAD_MOST:
                return
            if image not in self._ahead:
                self._ahead.add(image)
                over = partial(self._is_ahead, image)
                waiting = WaitingWorker(begun=lambda: None, done=over)
                self._images.provide(self.runtime, image, self._pull(self._settings), waiting)

    def end(self, container: WorkerContainer | None, done: Callable[[bool], None]) -> None:
        """Remove a container, also one that runs. `done` is told whether it had run out of memory."""
        if container is not None:
            name = container.container.name
            self._end(container.runtime, name, lambda oom: done(oom or container.ran_out_of_memory))

    def close(self) -> None:
        """End pulls. Containers are ended with their workers."""
        for each in tuple(self._pulling):
            each.kill()

    def _is_ahead(self, image: str, _: Pulled) -> None:
        self._ahead.discard(image)

    @staticmethod
    def _pull(settings: ContainerSettings) -> Pull:
        return Pull(options=settings.pull_options, limit_ms=settings.pull_timeout_ms)

    def _end(self, runtime: Runtime, name: str, done: Callable[[bool], None], tries: int = 1) -> None:
        def ended(end: CommandEnd) -> None:
            if (end.problem or end.exit_code) and tries < CONTAINER_ENDS_MOST:
                self._loop.after(END_AGAIN_MS, lambda: self._end(runtime, name, done, tries + 1))
            else:
                done(end.output.strip() == b"true")

        self._run(runtime.end(name), CONTAINER_END_MS, OUTPUT_BYTES, ended)

    def _look_for(self, candidates: list[Runtime], settings: ContainerSettings) -> None:
        if settings is not self._settings:
            return  # it was configured again meanwhile
        if not candidates:
            self._settle(None)
            return
        runtime, *others = candidates

        def looked(end: CommandEnd) -> None:
            if end.exit_code == 0 and not end.problem:
                if settings is self._settings:
                    self._settle(runtime)
                return
            self._problems.append(f"{runtime.name}: {end.problem}")
            self._look_for(others, settings)

        self._run(runtime.check(), RUNTIME_LOOK_MS, OUTPUT_BYTES, looked)

    def _settle(self, runtime: Runtime | None) -> None:
        self.runtime, self.is_known = runtime, True
        self._found()
        self._sweep()
        waiting, self._waiting = self._waiting, []
        for told in waiting:
            told()

    def _sweep_again(self) -> None:
        self._sweep()
        self._loop.after(LEFTOVERS_LOOK_MS, self._sweep_again)

    def _sweep(self) -> None:
        """Remove containers of this node whose workers are gone: a supervisor that was killed could not."""
        runtime = self.runtime
        if runtime is None or self._is_looking:
            return
        self._is_looking = True

        def listed(end: CommandEnd) -> None:
            self._is_looking = False
            living = self._living()
            for name in end.output.decode(errors="replace").split():
                if name.rpartition("-")[2] not in living:
                    self._end(runtime, name, lambda _: None)

        self._run(runtime.leftovers(self._badge), RUNTIME_LOOK_MS, OUTPUT_BYTES, listed)

    def _run(
        self,
        command: list[str],
        limit_ms: int,
        output_bytes: int,
        done: Callable[[CommandEnd], None],
        *,
        kept: set[BoundedCommand] | None = None,
    ) -> None:
        """Run a command of the runtime. While it runs, it is in the set `kept`."""
        variables = {
            **self._context.variables,
            # A supervisor that is started later ends what bears the name of its node and is not known to it.
            TOKEN_VARIABLE: f"{self._badge}{'0' * 8}",
        }
        limits = CommandLimits(time_ms=limit_ms, output_bytes=output_bytes)

        def ended(end: CommandEnd) -> None:
            if kept is not None:
                kept.discard(running)
            done(end)

        try:
            running = BoundedCommand(
                ["/usr/bin/env", *command],
                variables,
                limits,
                loop=self._loop,
                companions=self._companions,
                done=ended,
            )
        except OSError as error:
            problem = f"cannot be started: {error.strerror}"
            self._loop.after(0, lambda: done(CommandEnd(exit_code=126, output=b"", problem=problem)))
            return
        if kept is not None:
            kept.add(running)

    def _store(self) -> str:
        """The folder for image files, which is made if it is not there."""
        folder = self._context.images
        with suppress(OSError):
            for each in (folder.parent, folder):
                claim(each)
        return os.fspath(folder)
