"""The catalog's files say what tools are, the same bytes for the same tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.policy.catalog import (
    SpecInvalid,
    read_specs,
    render_spec,
    spec_digest,
    spec_from_json,
    spec_path,
    spec_to_json,
)
from gatewright.policy.dialect import SchemaInvalid
from gatewright.policy.errors import Finding
from gatewright.policy.formats import Findings
from gatewright.policy.model import FactSpec, ResourceSpec, ToolSpec
from gatewright.policy.source import Source

WHOLE: dict[str, Any] = {
    "name": "refund.create",
    "kind": "write",
    "action": "refund",
    "description": "Pay money back.",
    "use_when": "A customer is owed money.",
    "not_for": "Discounts.",
    "schema": {
        "type": "object",
        "properties": {"id": {"type": "string"}, "amount": {"type": "number"}},
        "required": ["id"],
        "additionalProperties": False,
    },
    "result": {"type": "object", "properties": {"ref": {"type": "string"}}},
    "facts": {"amount_chf": {"field": "/amount"}, "late": {}},
    "resources": {"payment": {"type": "payment", "at": "/id", "scope": "tenant", "attributes": {"type": "object"}}},
    "flags": {"/amount": ["echo", "loggable"]},
    "rules": ["positive"],
    "checks": ["open"],
    "reasons": ["already_paid", "too_late"],
    "context": {"channel": {"enum": ["web", "phone"]}},
    "schema_source": {"file": "refund.json", "sha256": "0" * 64},
}


def read(texts: dict[str, str]) -> tuple[dict[str, ToolSpec], list[Finding]]:
    """The tools of catalog files, and what is wrong with them."""
    findings = Findings()
    return read_specs(Source.from_texts(texts), findings), list(findings.all)


def test_a_file_is_read_into_a_spec() -> None:
    """Every part of it."""
    spec = spec_from_json(WHOLE)
    assert spec.facts == {"amount_chf": FactSpec("amount_chf", "/amount"), "late": FactSpec("late")}
    assert spec.resources == {"payment": ResourceSpec("payment", "payment", "/id", "tenant", {"type": "object"})}
    assert spec.flags == {"/amount": frozenset({"echo", "loggable"})}
    assert (spec.rules, spec.checks, spec.reasons) == (("positive",), ("open",), {"already_paid", "too_late"})
    assert spec.context == {"channel": {"enum": ["web", "phone"]}}


def test_what_is_written_is_read_back() -> None:
    """To the same spec, and written again to the same bytes."""
    spec = spec_from_json(WHOLE)
    text = render_spec(spec)
    assert json.loads(text) == spec_to_json(spec) == WHOLE
    assert read({spec_path(spec.name): text}) == ({spec.name: spec}, [])
    assert text.endswith("}\n")
    assert render_spec(spec_from_json(dict(reversed(WHOLE.items())))) == text


@pytest.mark.parametrize("part", [part for part in WHOLE if part not in ("name",)])
def test_the_digest_is_over_every_part(part: str) -> None:
    """Whatever changes of a tool, it is another tool."""
    others: dict[str, Any] = {
        "kind": "read",
        "action": "pay",
        "schema": {"type": "object", "properties": {}, "additionalProperties": False},
        "result": {"type": "object"},
        "facts": {"late": {}},
        "resources": {},
        "flags": {"/amount": ["secret"]},
        "rules": [],
        "checks": [],
        "reasons": ["too_late"],
        "context": {},
        "schema_source": {"file": "refund.json", "sha256": "1" * 64},
    }
    changed = {**WHOLE, part: others.get(part, "Another text.")}
    assert spec_from_json(changed).digest != spec_from_json(WHOLE).digest


def test_a_digest_tells_large_integers_apart() -> None:
    """Beyond what a double holds, where RFC 8785 has no form for them."""
    digests = {
        spec_from_json({**WHOLE, "schema": {"type": "object", "properties": {"n": {"maximum": limit}}}}).digest
        for limit in (2**63 - 1, 2**63 - 2, 2**53 - 1, 2**53 - 2)
    }
    assert len(digests) == 4


def test_a_spec_made_in_python_has_the_digest_of_its_file() -> None:
    """So that a registered tool can be told from its file."""
    spec = spec_from_json(WHOLE)
    made = ToolSpec(
        **{name: getattr(spec, name) for name in ToolSpec.__dataclass_fields__ if name not in ("digest", "rules")},
        rules=("positive",),
    )
    assert spec_digest(made) == spec.digest


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"name": "two words"}, ("name",)),
        ({"name": "n" * 129}, ("name",)),
        ({"kind": "both"}, ("kind",)),
        ({"description": " "}, ("description",)),
        ({"use_when": 3}, ("use_when",)),
        ({"facts": {"a": {"fields": "/a"}}}, ("facts", "a", "fields")),
        ({"facts": {"a": {"field": 3}}}, ("facts", "a", "field")),
        ({"facts": []}, ("facts",)),
        ({"resources": {"a": {"type": "payment"}}}, ("resources", "a", "at")),
        ({"resources": {"a": {"type": "t", "at": "/id", "scope": "all"}}}, ("resources", "a", "scope")),
        (
            {"resources": {"a": {"type": "t", "at": "/id", "attributes": {"type": "x"}}}},
            ("resources", "a", "attributes", "type"),
        ),
        ({"flags": {"/id": ["open"]}}, ("flags", "/id")),
        ({"rules": "positive"}, ("rules",)),
        ({"result": {"type": "x"}}, ("result", "type")),
        ({"schema": []}, ("schema",)),
        ({"schemas": {}}, ("schemas",)),
        ({"schema_source": {"file": "a.json"}}, ("schema_source", "sha256")),
        ({"schema_source": {"file": "a.json", "sha256": "F" * 64}}, ("schema_source", "sha256")),
        ({"schema_source": {"file": "a.json", "sha256": "0" * 64, "url": "a"}}, ("schema_source", "url")),
        ({"schema_source": []}, ("schema_source",)),
    ],
)
def test_a_fault_names_its_path(change: dict[str, Any], path: tuple[str, ...]) -> None:
    """From the top of the file."""
    with pytest.raises(SpecInvalid) as caught:
        spec_from_json({**WHOLE, **change})
    assert caught.value.path == path


def test_a_schema_outside_of_the_dialect_is_refused() -> None:
    """As it is at registration."""
    with pytest.raises(SchemaInvalid):
        spec_from_json({**WHOLE, "schema": {"type": "object", "properties": {"a": {"minimun": 3}}}})


def test_names_that_look_alike_are_findings() -> None:
    """A model, and a person, would take one for the other."""
    names = ["pay.one", "Pay.one", "pay.0ne"]
    texts = {spec_path(name): render_spec(spec_from_json({**WHOLE, "name": name})) for name in names}
    assert [(each.code, each.place.file) for each in sorted(read(texts)[1])] == [
        ("look_alike", "catalog/pay.0ne.json"),
        ("look_alike", "catalog/pay.one.json"),
    ]


@pytest.mark.promise("P11")
@pytest.mark.parametrize(
    "text", ["", "[", "null", "[]", "3", '"a"', "[" * 100_000, '{"a":' * 10_000, "{" + '"a":1,' * 3]
)
def test_no_text_crashes_the_reader(text: str) -> None:
    """One finding each."""
    specs, findings = read({"catalog/a.json": text})
    assert specs == {}
    assert [each.severity for each in findings] == ["error"]
