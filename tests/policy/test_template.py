"""An entry for one caller: what is shown, what is filled, what is taken."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gatewright.policy.caller import Caller
from gatewright.policy.errors import Place
from gatewright.policy.model import Json, Pointer, Schema, ToolSpec
from gatewright.policy.references import Unfilled, early_lookup
from gatewright.policy.template import OpenEntry, open_entry
from gatewright.policy.toolfile import ArgumentCut, Duties, Entry, Limit

HERE = Place("tools/t.yaml")
BASE: Schema = {
    "type": "object",
    "properties": {
        "service": {"type": "string"},
        "limit": {"type": "integer", "default": 50},
        "raw": {"type": "boolean", "default": False},
        "region": {"type": "string"},
        "env": {
            "type": "object",
            "properties": {"level": {"type": "string"}, "skip": {"type": "boolean"}},
            "additionalProperties": False,
        },
        "pays": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "amount": {"type": "number"}},
                "required": ["id", "amount"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["service", "pays"],
    "additionalProperties": False,
}
TOOL = ToolSpec("t", "read", "read", "d", "u", "n", BASE)
AMY = Caller("amy", "acme", frozenset({"viewer"}), claims={"region": "eu"})


class OnlyInventory:
    """Casbin grants one service."""

    def show(self, kind: str, action: str) -> Schema:
        return {"type": "string", "enum": ["inventory"]}

    def allow(self, kind: str, action: str, value: Json) -> bool:
        return value == "inventory"


def narrow_to(**keywords: Json) -> ArgumentCut:
    return ArgumentCut("narrow", schema=keywords)


def opened(cuts: dict[Pointer, ArgumentCut], limits: Sequence[Limit] = (), caller: Caller = AMY) -> OpenEntry:
    entry = Entry("viewer", HERE, ("viewer",), arguments=cuts)

    return open_entry(TOOL, entry, frozenset({"viewer"}), limits, early_lookup(caller, {}), OnlyInventory())


def properties(entry: OpenEntry) -> dict[str, Schema]:
    return entry.arguments.shown["properties"]  # type: ignore[return-value]


def test_required_arguments_show_and_unnamed_optional_ones_hide() -> None:
    """`{}` shows an optional argument and leaves it optional."""
    entry = opened({("limit",): narrow_to()})
    assert sorted(properties(entry)) == ["limit", "pays", "service"]
    assert entry.arguments.shown["required"] == ["service", "pays"]


def test_a_narrowed_argument_becomes_required_unless_its_default_passes() -> None:
    """Named means present: 50 is above 20, and below 100."""
    assert "limit" in opened({("limit",): narrow_to(maximum=20)}).arguments.shown["required"]  # type: ignore[operator]
    assert "limit" not in opened({("limit",): narrow_to(maximum=100)}).arguments.shown["required"]  # type: ignore[operator]


def test_a_limit_narrows_and_never_shows() -> None:
    """A limit on a hidden argument judges its default; it does not bring the name back."""
    limit = Limit("sane", HERE, arguments={("limit",): narrow_to(minimum=1), ("raw",): narrow_to(const=False)})
    entry = opened({("limit",): narrow_to(maximum=60)}, [limit])
    assert properties(entry)["limit"] == {"type": "integer", "minimum": 1, "maximum": 60, "default": 50}
    assert "raw" not in properties(entry)
    assert entry.fixed


def test_pins_and_hidden_defaults_are_filled_and_not_shown() -> None:
    """The model sees neither; the tool gets both."""
    entry = opened({("region",): ArgumentCut("pin", value={"$identity": "region"})})
    assert "region" not in properties(entry)
    assert entry.filling.fill({"service": "s", "pays": []}) == {
        "service": "s",
        "pays": [],
        "limit": 50,
        "raw": False,
        "region": "eu",
    }


def test_nested_and_array_pointers_cut_where_they_point() -> None:
    """`*` holds for every element; a hidden property goes, its parent stays."""
    entry = opened(
        {
            ("env",): narrow_to(),
            ("env", "skip"): ArgumentCut("hidden"),
            ("pays", "*", "amount"): narrow_to(exclusiveMinimum=0),
        }
    )
    assert sorted(properties(entry)["env"]["properties"]) == ["level"]  # type: ignore[call-overload]
    amount = properties(entry)["pays"]["items"]["properties"]["amount"]  # type: ignore[index,call-overload]
    assert amount == {"type": "number", "exclusiveMinimum": 0}


def test_granted_ids_are_shown_as_an_enum() -> None:
    """What Casbin grants literally is what the model may choose from."""
    entry = opened({("service",): ArgumentCut("narrow", granted=("service", "read"))})
    assert properties(entry)["service"] == {"type": "string", "enum": ["inventory"]}


def test_authority_and_other_narrowing_are_told_apart() -> None:
    """An identity constant is whose thing it is; a bound is not."""
    entry = opened({("service",): narrow_to(const={"$identity": "subject"}, minLength=1)})
    assert entry.arguments.overlays.authority == {"properties": {"service": {"const": "amy"}}}
    assert entry.arguments.overlays.narrowing == {
        "properties": {"service": {"minLength": 1, "type": "string"}},
        "required": ["service"],
    }


@pytest.mark.promise("P1")
def test_a_missing_claim_closes_the_entry() -> None:
    """Absence is denial: a pin without its claim opens nothing."""
    bare = Caller("amy", "acme", frozenset({"viewer"}))
    with pytest.raises(Unfilled):
        opened({("region",): ArgumentCut("pin", value={"$identity": "region"})}, caller=bare)


def test_a_reason_duty_adds_a_required_argument() -> None:
    """`_reason` is shown and required; the base schema never sees it."""
    limit = Limit("why", HERE, duties=Duties(reason=True))
    entry = opened({}, [limit])
    assert properties(entry)["_reason"]["minLength"] == 1
    assert "_reason" in entry.arguments.shown["required"]  # type: ignore[operator]
    assert "_reason" not in entry.arguments.visible["properties"]  # type: ignore[operator]


def test_texts_of_an_entry_win_over_the_base() -> None:
    """Description and default may be the role's own."""
    cut = ArgumentCut("narrow", schema={"maximum": 20}, texts={"default": 10, "description": "at most 20"})
    entry = opened({("limit",): cut})
    assert properties(entry)["limit"] == {
        "type": "integer",
        "default": 10,
        "description": "at most 20",
        "maximum": 20,
    }
    assert entry.filling.fill({})["limit"] == 10
