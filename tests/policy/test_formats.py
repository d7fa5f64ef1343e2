"""YAML is 1.2 core with places, and nothing more."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gatewright.policy import formats
from gatewright.policy.formats import Findings, Node, read_documents, read_text
from gatewright.policy.model import Json


def plain(text: str) -> list[Json]:
    """The documents of *text*, which has no findings."""
    findings = Findings()
    documents = read_documents("x.yaml", text.encode(), findings)
    assert not findings.all
    return [document.plain() for document in documents]


def codes(text: str | bytes) -> list[tuple[str, int, int]]:
    """Code, line and column of every finding in *text*."""
    findings = Findings()
    read_documents("x.yaml", text.encode() if isinstance(text, str) else text, findings)
    return [(each.code, each.place.line, each.place.column) for each in findings.all]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("2026-10-28", "2026-10-28"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("True", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("-3", -3),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("'1'", "1"),
        ('"true"', "true"),
        ("'null'", "null"),
    ],
)
def test_a_scalar_means_what_the_core_schema_says(written: str, meant: Json) -> None:
    """`no` is a string and a date stays one."""
    (document,) = plain(f"a: {written}")
    assert document == {"a": meant}
    assert isinstance(document, dict)
    assert type(document["a"]) is type(meant)


def test_every_node_and_key_knows_its_place() -> None:
    """Lines and columns count from 1, columns in characters."""
    (document,) = read_documents("x.yaml", "é: ü\nb:\n  - { käse: [1, 22] }\n".encode(), Findings())
    assert isinstance(document.value, dict)
    (item,) = _items(document.value["b"])
    assert isinstance(item.value, dict)
    assert (str(document.keys["b"]), str(item.keys["käse"])) == ("x.yaml:2:1", "x.yaml:3:7")
    assert [str(each.place) for each in _items(item.value["käse"])] == ["x.yaml:3:14", "x.yaml:3:17"]


def _items(node: Node) -> list[Node]:
    assert isinstance(node.value, list)
    return node.value


def test_several_documents_are_read() -> None:
    """One after the other."""
    assert plain("a: 1\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]


def test_everything_unused_is_found_at_once() -> None:
    """Anchors, aliases, tags and doubled keys, each where it stands."""
    text = "a: &x 1\nb: *x\nc: !!str 1\nd: ! x\na: 2\n<<: { e: 1 }\n"
    assert codes(text) == [
        ("anchor", 1, 4),
        ("anchor", 2, 4),
        ("tag", 3, 4),
        ("tag", 4, 4),
        ("duplicate_key", 5, 1),
        ("bad_key", 6, 1),
    ]


def test_text_that_is_not_utf8_is_found_where_it_breaks() -> None:
    """Line and column of the first such byte."""
    assert codes(b"a: 1\nb: \xc3\xbc\xff\n") == [("not_utf8", 2, 5)]


@pytest.mark.parametrize("odd", ["\x00", "\x1b[0m", "\x85", "\u2028", "\r", "\ufeff"])
def test_control_characters_are_findings(odd: str) -> None:
    """Whatever a reader could take for the end of a line, or would not see."""
    assert codes(f"a: b{odd}c") == [("control_character", 1, 5)]


def test_windows_line_ends_are_none() -> None:
    """CR LF is a line end."""
    assert plain("a: 1\r\nb: 2\r\n") == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("text", ["- " * 500 + "a", "[" * 500, "{a: " * 500, "- " * 50_000])
@pytest.mark.promise("P11")
def test_deep_nesting_is_a_finding(text: str) -> None:
    """Refused at a fixed depth, before anything could overflow."""
    ((code, line, _),) = codes(text)
    assert (code, line) == ("too_deep", 1)


def test_there_are_never_more_than_a_thousand_findings() -> None:
    """The last one says so."""
    findings = Findings()
    read_documents("x.yaml", "".join(f"a: {index}\n" for index in range(3000)).encode(), findings)
    assert len(findings) == 1000
    assert findings.all[-1].code == "too_many"
    assert findings.is_full


def test_a_finding_is_held_once() -> None:
    """Two tools of one document find the same fault."""
    findings = Findings()
    for _ in range(2):
        read_documents("x.yaml", b"a: 1\na: 2\n", findings)
    assert len(findings) == 1


_KEYS = st.text("abcdefg_$/*", min_size=1, max_size=6)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(_JSON)
def test_json_written_as_yaml_is_read_back(value: Json) -> None:
    """By another library's writer, with everything quoted that needs it; the pure parser reads the same."""
    text = yaml.safe_dump(value, allow_unicode=False)
    findings = Findings()
    documents = read_documents("x.yaml", text.encode(), findings)
    if any(each.code == "control_character" for each in findings.all):
        return
    assert not findings.all
    assert [document.plain() for document in documents] == [value]


@given(st.text(max_size=60) | st.text("{}[]:,-&*!|>'\"%@#? \n\tab", max_size=60))
@pytest.mark.promise("P11")
def test_no_text_crashes_the_reader(text: str) -> None:
    """It is read, or there are findings."""
    findings = Findings()
    documents = read_documents("x.yaml", text.encode("utf-8", "surrogatepass"), findings)
    assert documents or findings.all or not text.strip("\ufeff \t\n\r") or text.lstrip().startswith(("#", "%", "..."))


def test_the_pure_parser_gives_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where libyaml is not built in."""
    text = b"tool: x\nallow:\n  - { id: a, roles: [viewer], arguments: { /a/*/b: hidden } } # why\n"
    first = read_documents("x.yaml", text, Findings())
    monkeypatch.setattr(formats, "_Loader", yaml.SafeLoader)
    assert read_documents("x.yaml", text, Findings()) == first


def test_a_text_is_handed_on_as_it_is() -> None:
    """Nothing is repaired."""
    assert read_text("x", b"a\tb\r\n", Findings()) == "a\tb\r\n"
