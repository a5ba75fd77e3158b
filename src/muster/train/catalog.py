"""`python -m muster.train.catalog`: what is in storage of a run, one JSON object a line, for the control plane.

    list   --run RUN [--path DURABLE] [--hot FOLDER] [--step N]     lists of files are read
    verify --run RUN …                                              all files are read and compared with checksums
    remove --run RUN … --step N                                     one checkpoint is removed from all places

Durable storage that cannot be reached is left out of lists, and `unread` says why.

It is run with the environment of a job, so that it has the job's credentials. A problem is one line on stderr.
"""

import argparse
import glob
import json
import os
import sys
from dataclasses import asdict

from muster.train.errors import in_words
from muster.train.store.inventory import Inventory, StoredCheckpoint

FAILED = 1


def main(arguments: "list[str] | None" = None) -> int:
    """Do what the command line asks for."""
    options = _options(arguments)
    hot = (
        sorted(glob.glob(os.path.join(glob.escape(options.hot), "*", glob.escape(options.run)))) if options.hot else []
    )
    try:
        inventory = Inventory(options.path, hot, options.run)
        if options.action == "remove":
            inventory.remove(options.step)
            return 0
        unread = inventory.leave_out_unreachable()
        for found in _found(inventory, options.step, verify=options.action == "verify"):
            sys.stdout.write(json.dumps({**asdict(found), "unread": unread}) + "\n")
    except Exception as error:  # noqa: BLE001 - storage raises what it likes, and the control plane needs one line
        sys.stderr.write(f"{in_words(error)}\n")
        return FAILED
    return 0


def _found(inventory: Inventory, step: "int | None", *, verify: bool) -> "list[StoredCheckpoint]":
    """One checkpoint, or all, oldest first."""
    steps = [step] if step is not None else [each.step for each in reversed(inventory.checkpoints())]
    looked = (inventory.verify(each) if verify else inventory.checkpoint(each) for each in steps)
    return [each for each in looked if each is not None]


def _options(arguments: "list[str] | None") -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m muster.train.catalog")
    parser.add_argument("action", choices=("list", "verify", "remove"))
    parser.add_argument("--run", required=True)
    parser.add_argument("--path")
    parser.add_argument("--hot")
    parser.add_argument("--step", type=int)
    options = parser.parse_args(arguments)
    if options.action == "remove" and options.step is None:
        parser.error("remove needs --step")
    return options


if __name__ == "__main__":
    sys.exit(main())
