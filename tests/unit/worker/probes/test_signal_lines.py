"""What the command of an operator prints is read strictly, and a wrong line says how it is wrong."""

import json

import pytest

from muster.model.ids import NodeName
from muster.model.node_limits import PROBE_SIGNALS
from muster.worker.probes.signal_lines import read_signals

N1 = NodeName("n1")


def test_signals_are_read_with_what_they_are_about() -> None:
    output = b"""
{"signal": "gpu_temperature", "gpu": 3, "value": 96.6}
{"signal": "nic_down", "nic": "eth0"}
{"signal": "gpu_lost", "gpu": 1, "value": true}
{"signal": "clock_offset", "value": -3}
{"signal": "custom.fabric-1", "verdict": "suspect", "gpu": 0}
"""
    found = read_signals(output, N1, 5)
    assert found.problem == ""
    assert [(each.signal, each.value, each.gpu, each.nic, each.verdict) for each in found.signals] == [
        ("gpu_temperature", 97, 3, "", ""),
        ("nic_down", 1, None, "eth0", ""),
        ("gpu_lost", 1, 1, "", ""),
        ("clock_offset", -3, None, "", ""),
        ("custom.fabric-1", 0, 0, "", "suspect"),
    ]
    assert {(each.node, each.at_ms) for each in found.signals} == {(N1, 5)}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("hot", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a JSON object"),
        ('{"signal": "gpu_temp", "value": 1}', "unknown signal 'gpu_temp'"),
        ('{"value": 1}', "unknown signal 'None'"),
        ('{"signal": "custom.", "verdict": "ok"}', "unknown signal 'custom.'"),
        ('{"signal": "disk_free"}', "the value of disk_free must be a number"),
        ('{"signal": "disk_free", "value": "much"}', "must be a number"),
        ('{"signal": "disk_free", "value": true}', "must be a number"),
        ('{"signal": "disk_free", "value": NaN}', "must be a number"),
        ('{"signal": "disk_free", "value": 1e300}', "must be a number"),
        ('{"signal": "disk_free", "value": -1}', "must not be negative"),
        ('{"signal": "gpu_lost", "value": 1}', "gpu_lost needs a gpu"),
        ('{"signal": "gpu_lost", "gpu": -1}', "gpu must be a number"),
        ('{"signal": "gpu_lost", "gpu": true}', "gpu must be a number"),
        ('{"signal": "nic_down", "nic": 5}', "nic must be a name"),
        ('{"signal": "nic_down", "nic": "a\\u001b"}', "nic must be a name"),
        ('{"signal": "disk_free", "value": 1, "verdict": "ok"}', "has a value and no verdict"),
        ('{"signal": "custom.x", "verdict": "fine"}', "custom.x needs a verdict: ok, suspect, bad"),
        ('{"signal": "disk_free", "value": 1, "extra": 1}', "unknown key 'extra'"),
    ],
)
def test_a_wrong_line_says_how_and_the_others_count(line: str, problem: str) -> None:
    found = read_signals(f'{{"signal": "nic_down", "value": 0}}\n{line}\n'.encode(), N1, 0)
    assert found.problem.startswith("line 2: ")
    assert problem in found.problem
    assert [each.signal for each in found.signals] == ["nic_down"]


def test_the_last_line_about_a_thing_counts_and_there_are_only_so_many_things() -> None:
    lines = [json.dumps({"signal": f"custom.{number}", "verdict": "ok"}) for number in range(PROBE_SIGNALS + 1)]
    found = read_signals("\n".join([*lines, '{"signal": "custom.0", "verdict": "bad"}']).encode(), N1, 0)
    assert (len(found.signals), found.signals[0].verdict) == (PROBE_SIGNALS, "bad")
    assert f"more than {PROBE_SIGNALS} signals" in found.problem
