from pathlib import Path

import pytest

from muster.formats.text import document as document_module
from muster.formats.text.document import Document, InvalidDocument, Problems, parse_document, read_document
from muster.formats.text.yaml_text import path_text
from muster.model.errors import InvalidFile


def refusal(text: str, *, file: str = "f.yaml") -> InvalidDocument:
    with pytest.raises(InvalidDocument) as caught:
        parse_document(text, file=file)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on: [yes, no, off]", {"on": ["yes", "no", "off"]}),
        ("t: 12:30", {"t": "12:30"}),
        ("t: 2026-01-01T00:00:00Z", {"t": "2026-01-01T00:00:00Z"}),
        ("d: 2026-01-01", {"d": "2026-01-01"}),
        ("x: 0x1F", {"x": "0x1F"}),
        ("x: 007", {"x": "007"}),
        ("x: 1_000", {"x": "1_000"}),
        ("x: 1e3", {"x": 1000.0}),
        ("x: .5", {"x": 0.5}),
        ("x: [1, -2, 0, 0.25, true, ~, .inf, '1', -]", {"x": [1, -2, 0, 0.25, True, None, ".inf", "1", "-"]}),
        ("1: a\ntrue: b\nnull: c", {"1": "a", "true": "b", "null": "c"}),
        ("x: !!str 5", {"x": "5"}),
        ("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}", {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}),
        ("a: &a {x: 1}\nc: {x: 2, <<: *a}", {"a": {"x": 1}, "c": {"x": 2}}),
        ("[1]", [1]),
        ('{"a": 1, "b": [0.5, null]}', {"a": 1, "b": [0.5, None]}),
        ("{a: 1, b: c}", {"a": 1, "b": "c"}),
    ],
)
def test_a_text_means_what_it_seems_to_mean(text: str, value: object) -> None:
    assert parse_document(text, file="f.yaml").value == value


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3", 3, "'a' is given twice, on lines 1 and 3"),
        ('{"a": 1,\n "a": 2}', 2, "'a' is given twice, on lines 1 and 2"),
        ("a: !!python/object:os.system x", 1, "is not allowed"),
        ("a: !custom {x: 1}", 1, "is not allowed"),
        ("a: [1, 2", 1, "not YAML"),
        ("a: b: c", 1, "not YAML"),
        ("a:\n\tb: 1", 2, "the line is indented with a tab (YAML is indented with blanks: replace the tab)"),
        ("a:\n  b: 1\n  \tc: 2\nd: 3", 3, "the line is indented with a tab"),
        ("\ta: 1", 1, "the line is indented with a tab"),
        ("a: x\tb: y: z", 1, "not YAML"),
        ("a: 1\n---\nb: 2", 2, "a second document"),
        ("a: *missing", 1, "refers to nothing"),
        ("a: &a [*a]", 1, "refers to nothing"),
        ("? [1]\n: x", 1, "a key must be plain text"),
        ("a: {<<: 5}", 1, "<< must name"),
        ("[" * 100, 1, "levels deep"),
        ("", None, "empty"),
        ("# nothing\n", None, "empty"),
        ("\x00", None, "not YAML"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_with_its_line(text: str, line: int | None, words: str) -> None:
    error = refusal(text)
    assert error.line == line
    assert words in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": NaN}',
        '{"a": 1e999}',
        f'{{"a": {"9" * 5000}}}',
        "[" * 100_000,
        '{"a": 1, "\\ud800": 1, "\\ud800": 2}',
    ],
)
def test_json_that_cannot_be_read_is_refused(text: str) -> None:
    assert refusal(text, file="f.json").exit_code == 2


def test_aliases_that_unfold_without_end_are_refused() -> None:
    rows = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "unfold" in str(refusal("\n".join(rows)))


def test_a_file_that_is_not_there_a_folder_and_binary_are_refused(tmp_path: Path) -> None:
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"a: 1\nb: \xff\xfe")
    for path, words in ((tmp_path / "none", "no such file"), (tmp_path, "a folder"), (binary, "not UTF-8")):
        with pytest.raises(InvalidDocument, match=words):
            read_document(path)
    with pytest.raises(InvalidDocument, match="cannot be read"):
        read_document("a\0b")


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1")
    assert read_document(path).value == {"a": 1}


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_module, "SCENARIO_FILE_BYTES", 10)
    path = tmp_path / "f.yaml"
    path.write_text("a: 0123456789", "utf-8")
    with pytest.raises(InvalidDocument, match="larger than"):
        read_document(path)


def test_problems_are_shown_with_lines_in_the_order_of_the_file() -> None:
    text = "a:\n  - x: 1\n  -\n    y: {z: 2}\nb: 3\n"
    problems = Problems(parse_document(text, file="f.yaml"))
    problems.add(("b",), "wrong")
    problems.add(("a", 1, "y", "z"), "bad", "do better")
    problems.add(("a", 0, "missing"), "absent")
    with pytest.raises(InvalidDocument) as caught:
        problems.stop_if_any()
    assert str(caught.value).splitlines() == [
        "f.yaml:2: a[0].missing: absent",
        "f.yaml:4: a[1].y.z: bad (do better)",
        "f.yaml:5: b: wrong",
    ]
    assert all(isinstance(error, InvalidFile) for error in caught.value.errors)
    assert (caught.value.path, caught.value.line) == ("a[0].missing", 2)


def test_lines_are_found_in_json_too() -> None:
    problems = Problems(parse_document('{\n\t"a": {\n\t\t"b": [1,\n2]}}', file="f.json"))
    problems.add(("a", "b", 1), "wrong")
    with pytest.raises(InvalidDocument) as caught:
        problems.stop_if_any()
    assert caught.value.line == 4


def test_what_came_through_an_alias_is_found_where_the_alias_stands() -> None:
    problems = Problems(parse_document("a: &a {x: 1}\nb:\n  c: *a\n", file="f.yaml"))
    problems.add(("b", "c", "x"), "wrong")
    with pytest.raises(InvalidDocument) as caught:
        problems.stop_if_any()
    assert caught.value.line == 3


def test_at_most_twenty_problems_are_shown_and_the_others_counted() -> None:
    problems = Problems(Document(file="f", value={}))
    for number in range(50):
        problems.add((number,), "wrong")
    with pytest.raises(InvalidDocument) as caught:
        problems.stop_if_any()
    assert len(caught.value.errors) == 20
    assert str(caught.value).splitlines()[-1] == "f: and 30 more"


def test_no_problems_stop_nothing() -> None:
    Problems(Document(file="f", value={})).stop_if_any()


def test_a_path_is_written_as_people_write_it() -> None:
    assert path_text(("waiting", 3, "job", "resources", "gpus")) == "waiting[3].job.resources.gpus"
    assert path_text(("a\n", 0)) == "'a\\n'[0]"
    assert path_text(()) == ""
