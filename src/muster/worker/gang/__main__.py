"""What the workers of a gang run.

lead BOX GANG FILE [ALLOCATION]   the first worker: runs the script, and passes on what is to run elsewhere
wait BOX GANG RANK                every other worker: runs what it is sent, until the first worker has ended
run BOX GANG RANK HOST …          what `mpirun` calls instead of `ssh`, in the first worker, which has this rank
step SOCKET RANK                  the tasks of one step beside one worker, for the `srun` that listens there
ray-lead HOST PORT GANG WORKERS CPUS FILE    the first worker of a Ray cluster: its head, and the script
ray-join HOST PORT GANG CPUS                 every other worker of a Ray cluster: a node
"""

import sys


def main(arguments: list[str]) -> int:
    """One of the commands above. Each loads only what it needs, because users wait for it."""
    match arguments:
        case ["lead", box, gang, file, *allocation]:
            from muster.worker.gang.hub import lead  # noqa: PLC0415

            return lead(box, gang, file, *allocation[:1])
        case ["wait", box, gang, rank, *hosts]:
            from muster.worker.gang.companion import wait  # noqa: PLC0415
            from muster.worker.gang.host_names import make_known  # noqa: PLC0415

            make_known(hosts)
            return wait(box, gang, int(rank))
        case ["run", box, gang, rank, host, *words]:
            from muster.worker.gang.mpi import run  # noqa: PLC0415

            return run(box, gang, int(rank), host, " ".join(words))
        case ["step", path, rank]:
            from muster.worker.gang.step_daemon import serve  # noqa: PLC0415

            return serve(path, int(rank))
        case ["ray-lead", host, port, gang, workers, cpus, file]:
            from muster.worker.gang.ray_gang import lead as lead_ray  # noqa: PLC0415

            return lead_ray(host, int(port), gang, int(workers), int(cpus), file)
        case ["ray-join", host, port, gang, cpus]:
            from muster.worker.gang.ray_gang import join  # noqa: PLC0415

            return join(host, int(port), gang, int(cpus))
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
