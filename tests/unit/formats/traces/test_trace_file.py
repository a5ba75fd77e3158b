import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.formats.text.document import InvalidDocument
from muster.formats.text.ranges import is_team_name
from muster.formats.traces import lines
from muster.formats.traces.trace_file import read_trace, trace_name, write_trace
from muster.model.errors import InvalidInput
from muster.model.ids import GpuType, JobId, TeamPath, TierName
from muster.model.trace import Trace, TraceJob
from tests.unit.formats.traces.builders import HEADER, refusal, trace_of, written

CENTURY_MS = 100 * 365 * 24 * 3_600_000
KINDS = ("a100", "h100", "H100-80GB", "k80")

words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=12)
names = words.filter(lambda word: word.isprintable() and not set(word) & set(" [],/|"))
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).map(str.strip)
moments = st.integers(0, CENTURY_MS)
runs = st.integers(1, CENTURY_MS)
kinds = st.sampled_from(KINDS).map(GpuType)


@st.composite
def jobs(draw: st.DrawFn, number: int) -> TraceJob:
    return TraceJob(
        id=JobId(f"{number}-{draw(names)}"),
        submit_ms=draw(moments),
        run_ms=draw(runs),
        gpu_milli=draw(st.integers(1, 1000) | st.integers(1, 4096).map(lambda gpus: gpus * 1000)),
        team=TeamPath("/".join(draw(st.lists(names.filter(is_team_name), min_size=1, max_size=3)))),
        user=draw(texts),
        name=draw(texts),
        tier=TierName(draw(names)),
        priority=draw(st.integers(0, 100)),
        gpu_types=tuple(draw(st.lists(kinds, unique=True))),
        cpu_milli=draw(st.integers(0, 10**6)),
        memory_bytes=draw(st.integers(0, 10**15)),
        max_duration_ms=draw(st.none() | runs),
        run_ms_by_type=tuple(sorted(draw(st.dictionaries(kinds, runs)).items())),
        status=draw(texts),
    )


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    drawn = [draw(jobs(number)) for number in range(draw(st.integers(0, 4)))]
    return Trace(name="t", jobs=tuple(sorted(drawn, key=lambda job: job.submit_ms)))


@given(trace=traces(), ending=st.sampled_from([".csv", ".csv.gz"]))
def test_what_is_written_is_read_back(trace: Trace, ending: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"t{ending}")
        write_trace(trace, path)
        assert read_trace(path) == trace


def test_equal_traces_are_equal_files(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, HEADER, "a,0,1,1")
    for name in ("x.csv.gz", "y.csv.gz"):
        write_trace(trace, tmp_path / name)
    assert (tmp_path / "x.csv.gz").read_bytes() == (tmp_path / "y.csv.gz").read_bytes()


def test_packing_is_seen_from_the_content(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfjob_id,submit_s,duration_s,gpus\r\na,0,1,1\r\n"))
    assert [job.id for job in read_trace(path).jobs] == ["a"]
    plain = written(tmp_path, HEADER, "a,0,1,1").rename(tmp_path / "plain.csv.gz")
    assert [job.id for job in read_trace(plain).jobs] == ["a"]


@pytest.mark.parametrize(
    ("path", "name"), [("/x/philly.csv.gz", "philly"), ("a.b.swf", "a.b"), ("jobs", "jobs"), ("x.txt", "x.txt")]
)
def test_a_trace_is_called_like_its_file(path: str, name: str) -> None:
    assert trace_name(path) == name


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"\x1f\x8b\x08rubbish", "cannot be unpacked"),
        (gzip.compress(HEADER.encode() * 1000)[:-12], "cannot be unpacked"),
        (b"job_id,submit_s,duration_s,gpus\n\xff,0,1,1\n", "not UTF-8 text"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidDocument, match=expected):
        read_trace(path)


def test_plain_text_that_is_named_as_packed_and_no_trace_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_text("<html>not found</html>\n", "utf-8")
    with pytest.raises(InvalidDocument, match=r"ends in \.gz, and it is neither packed with gzip nor a trace"):
        read_trace(path)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument, match=r"none\.csv: there is no such file"):
        read_trace(tmp_path / "none.csv")
    with pytest.raises(InvalidDocument, match="this is a folder"):
        read_trace(tmp_path)
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_trace(Trace(name="t", jobs=()), tmp_path / "no" / "t.csv")


def test_a_line_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_CHARS", 64)
    assert refusal(tmp_path, HEADER, f"{'a' * 70},0,1,1") == ["t.csv:2: the line is too long (is this a trace?)"]
