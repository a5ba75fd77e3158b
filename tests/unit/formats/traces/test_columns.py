"""Columns that no trace knows are not a mystery, and the sample can be read."""

import pytest

from muster.formats.traces.columns import probably_meant
from muster.formats.traces.trace_csv import COLUMNS
from muster.formats.traces.trace_file import read_trace, sample_trace


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("submit_time", "submit_s"),
        ("runtime", "duration_s"),
        ("Num_GPUs", "gpus"),
        ("vc", "team"),
        ("max_durations_s", "max_duration_s"),
        ("loss", None),
    ],
)
def test_what_a_column_was_meant_to_be_is_found_by_its_usual_names_and_by_its_spelling(
    column: str, meant: str | None
) -> None:
    assert probably_meant(column, COLUMNS) == meant


def test_the_sample_is_a_trace_with_its_cluster_beside_it() -> None:
    trace = read_trace(sample_trace())
    assert len(trace.jobs) == 400
    assert trace.unused == ()
    assert sample_trace().with_name("sample.cluster.json").is_file()
