"""Where tables and keys of a TOML document stand, and errors that say so."""

from pathlib import Path

import pytest

from muster.formats.rules.server_file import read_server_file
from muster.formats.text.document import InvalidDocument
from muster.formats.text.toml_text import lines_of_toml

TEXT = '''\
# a comment = 1
title = "a # b"

[server] # here
port = 1

[[admission]]
name = "first"
when = """
name = "inside a text"
[not.a.table]
"""
deny = "no"
[[ admission ]]
name = 'second'
[admission.set]
max_duration = "1h"
checkpoint.every = "5m"

[teams."a b".teams.c]
weight = 2
'''


def test_tables_keys_and_entries_of_lists_have_lines_and_long_texts_are_passed_over() -> None:
    assert lines_of_toml(TEXT) == {
        (): 1,
        ("title",): 2,
        ("server",): 4,
        ("server", "port"): 5,
        ("admission", 0): 7,
        ("admission", 0, "name"): 8,
        ("admission", 0, "when"): 9,
        ("admission", 0, "deny"): 13,
        ("admission", 1): 14,
        ("admission", 1, "name"): 15,
        ("admission", 1, "set"): 16,
        ("admission", 1, "set", "max_duration"): 17,
        ("admission", 1, "set", "checkpoint", "every"): 18,
        ("teams", "a b", "teams", "c"): 20,
        ("teams", "a b", "teams", "c", "weight"): 21,
    }


def test_what_is_wrong_with_a_rule_is_told_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "muster.toml"
    file.write_text('[[admission]]\nname = "a"\nwhen = "jb.name == 1"\nwarn = "x"\n\n[profiles.p]\ngpu = 1\n')
    with pytest.raises(InvalidDocument) as raised:
        read_server_file(file)
    first, second = raised.value.errors
    assert str(first).startswith(f"{file}:3: admission[0].when: undeclared reference to 'jb")
    assert first.hint == "conditions are about `job`, `user`, `team` and `now`"
    assert (second.line, second.path, second.problem) == (7, "profiles.p.gpu", "unknown key")
