"""Whatever is written comes back, and whatever is wrong is said: never a traceback."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.formats.jobs.job_document import job_document
from muster.formats.jobs.job_file import job_from_document
from muster.formats.scenarios.scenario_file import scenario_from_document
from muster.formats.text.document import Document, InvalidDocument, parse_document
from muster.formats.text.ranges import array_spec, array_text, node_names, node_ranges
from muster.formats.text.units import (
    BadValue,
    duration_ms,
    duration_text,
    memory_bytes,
    memory_value,
    time_ms,
    time_text,
)
from muster.formats.text.yaml_text import Loc
from muster.model.errors import InvalidFile
from muster.model.ids import GpuType, JobId, LevelName, TeamPath, TierName
from muster.model.limits import MAX_DURATION_MS
from muster.model.records import evolve
from muster.model.resources import Request
from muster.model.spec import (
    ArraySpec,
    BatchSignal,
    BatchSpec,
    CheckpointSpec,
    Dependency,
    DependencyWhen,
    JobSpec,
    Launch,
    Retry,
    RetryCause,
    RoleSpec,
    TopologySpec,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
MUTATIONS = 500

words = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
durations = st.integers(1, MAX_DURATION_MS)
variables = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)


def sorted_pairs(keys: st.SearchStrategy[Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(keys, values, max_size=3).map(lambda entries: tuple(sorted(entries.items())))


requests = st.builds(
    Request,
    gpu_milli=st.integers(0, 999) | st.integers(0, 64).map(lambda gpus: gpus * 1000),
    gpu_types=st.lists(words.map(GpuType), unique=True, max_size=3).map(tuple),
    cpu_milli=st.integers(0, 10**8),
    memory_bytes=st.integers(0, 1 << 50),
    disk_bytes=st.integers(0, 1 << 20).map(lambda blocks: blocks << 20),
    throughput=sorted_pairs(words.map(GpuType), st.integers(1, 10**6)),
)


@st.composite
def some_roles(draw: st.DrawFn) -> tuple[RoleSpec, ...]:
    names = draw(st.just(["worker"]) | st.lists(words, unique=True, min_size=1, max_size=4))
    elastic = draw(st.sampled_from(names))
    roles = []
    for name in names:
        lowest = draw(st.integers(1, 100))
        highest = lowest + (draw(st.integers(0, 100)) if name == elastic else 0)
        command = draw(lines.filter(str.strip))
        roles.append(RoleSpec(name=name, workers_min=lowest, workers_max=highest, request=draw(requests), run=command))
    return tuple(roles)


jobs = st.builds(
    JobSpec,
    name=words,
    team=st.lists(words, min_size=1, max_size=8).map(lambda parts: TeamPath("/".join(parts))),
    tier=words.map(TierName),
    roles=some_roles(),
    priority=st.integers(0, 100),
    launch=st.sampled_from(Launch),
    batch=st.builds(
        BatchSpec,
        arguments=st.lists(lines, max_size=3).map(tuple),
        tasks=st.integers(0, 100),
        tasks_per_worker=st.integers(1, 100),
        output=st.just("") | lines,
        append=st.booleans(),
        signal=st.none()
        | st.builds(BatchSignal, name=st.sampled_from(["USR1", "TERM", "10"]), script_only=st.booleans()),
    ),
    setup=st.just("") | lines,
    env=sorted_pairs(variables, lines),
    secrets=st.lists(variables, max_size=3).map(tuple),
    topology=st.builds(
        TopologySpec,
        within=st.none() | words.map(LevelName),
        prefer=st.none() | words.map(LevelName),
        relax_after_ms=st.integers(0, MAX_DURATION_MS),
    ),
    max_duration_ms=st.none() | durations,
    expected_duration_ms=st.none() | durations,
    checkpoint=st.none()
    | st.builds(
        CheckpointSpec,
        path=lines,
        every_ms=st.none() | durations,
        keep=st.integers(1, 100),
        grace_ms=st.integers(0, MAX_DURATION_MS),
    ),
    preemptible=st.booleans(),
    retry=st.builds(
        Retry, limit=st.integers(0, 1000), on=st.lists(st.sampled_from(RetryCause), unique=True).map(tuple)
    ),
    depends_on=st.lists(
        st.builds(Dependency, job=words.map(JobId), when=st.sampled_from(DependencyWhen)), max_size=3
    ).map(tuple),
    array=st.none()
    | st.builds(
        ArraySpec,
        indices=st.sets(st.integers(0, 10**8), min_size=1, max_size=20).map(lambda found: tuple(sorted(found))),
        concurrency=st.none() | st.integers(1, 100),
    ),
    tags=sorted_pairs(words, lines),
)


def legal(spec: JobSpec) -> JobSpec:
    """A batch script, and workers that keep apart, need one role of one size."""
    if len(spec.roles) == 1 and spec.elastic_role is None:
        return evolve(spec, topology=evolve(spec.topology, spread=spec.preemptible))
    return evolve(spec, launch=Launch.PLAIN) if spec.launch is Launch.SLURM else spec


@given(jobs.map(legal))
def test_every_job_comes_back_from_its_document(spec: JobSpec) -> None:
    document = job_document(spec)
    assert job_from_document(Document(file="f", value=document)) == spec
    assert job_from_document(parse_document(json.dumps(document), file="f.json")) == spec


@given(st.integers(0, MAX_DURATION_MS), st.integers(0, 1 << 55), st.integers(0, 10**14))
def test_every_quantity_comes_back_from_its_text(duration: int, size: int, moment: int) -> None:
    assert duration_ms(duration_text(duration)) == duration
    assert memory_bytes(memory_value(size)) == size
    assert time_ms(time_text(moment)) == moment


@given(st.sets(st.integers(0, 10**8), min_size=1, max_size=30))
def test_every_array_and_every_set_of_nodes_comes_back_from_its_text(numbers: set[int]) -> None:
    array = ArraySpec(indices=tuple(sorted(numbers)))
    assert array_spec(array_text(array)) == array
    names = [f"n{number}" for number in sorted(numbers)]
    assert list(node_names(node_ranges(names))) == names


def complaints(read: Callable[[], object]) -> tuple[InvalidFile, ...]:
    """What a reader says about a file; anything but a proper complaint goes through and fails the test."""
    try:
        read()
    except InvalidDocument as error:
        return error.errors
    return ()


@given(st.one_of(st.text(max_size=20), st.floats(), st.integers(), st.booleans(), st.none()))
def test_a_quantity_is_read_or_refused(value: object) -> None:
    for read in (duration_ms, memory_bytes, time_ms, array_spec, node_names):
        with suppress(BadValue):
            read(value)


def read_scenario_text(text: str, file: str) -> object:
    return scenario_from_document(parse_document(text, file=file))


@given(st.text(max_size=200))
def test_a_text_is_read_or_refused(text: str) -> None:
    for file in ("f.yaml", "f.json"):
        assert complaints(partial(read_scenario_text, text, file))


ODDITIES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 10**17, 0.5, 1.5, 1e300, "", "x", "a b", "n[1-", "..", "\ud800", "\n", "*", "a/b"),
    *(
        "9" * 40,
        "2026-01-01T00:00:00Z",
        "7d",
        [],
        {},
        [[]],
        [{}],
        {"": None},
        {"a": {"a": {}}},
        [None],
        "n1",
        "standard",
    ),
)


def places(value: Any, at: Loc = ()) -> Iterator[Loc]:
    """Every place in a document, outermost first."""
    yield at
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        yield from places(each, (*at, key))


def mutated(value: Any, chance: random.Random) -> Any:
    """A copy in which one place is replaced, removed, repeated, renamed or moved."""
    value = copy.deepcopy(value)
    place = chance.choice(list(places(value))[1:])
    last: Any = place[-1]
    parent: Any = value
    for step in place[:-1]:
        parent = parent[step]
    match chance.choice(["replace", "replace", "remove", "rename", "swap"]):
        case "replace":
            parent[last] = copy.deepcopy(chance.choice(ODDITIES))
        case "remove":
            del parent[last]
        case "rename" if isinstance(parent, dict):
            parent[f"{last}x"] = parent.pop(last)
        case "swap" if isinstance(parent, dict):
            other = chance.choice(list(parent))
            parent[last], parent[other] = parent[other], parent[last]
        case _:
            parent.append(parent[last]) if isinstance(parent, list) else parent.update({"more": parent[last]})
    return value


@pytest.mark.parametrize("example", ["demo.yaml", "job.yaml"])
def test_a_file_with_any_change_is_read_or_refused(example: str) -> None:
    read = scenario_from_document if example == "demo.yaml" else job_from_document
    original = parse_document((EXAMPLES / example).read_text("utf-8"), file=example).value
    chance = random.Random(2026)
    refused = 0
    for _ in range(MUTATIONS):
        value = original
        for _ in range(chance.randint(1, 3)):
            value = mutated(value, chance)
        found = complaints(partial(read, Document(file=example, value=value)))
        refused += bool(found)
        for each in found:
            assert str(each).encode("utf-8")
    assert refused > MUTATIONS // 4


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_a_file_with_broken_characters_is_read_or_refused(seed: int, changes: int) -> None:
    chance = random.Random(seed)
    text = list((EXAMPLES / "job.yaml").read_text("utf-8"))
    for _ in range(changes):
        text[chance.randrange(len(text))] = chance.choice("{}[]:,&*!|>'\"%@`#\t\n -x0\0é")
    for each in complaints(lambda: job_from_document(parse_document("".join(text), file="job.yaml"))):
        assert each.problem
