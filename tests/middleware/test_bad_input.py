"""
Input that is made to hurt, through registration, loading and calls: bombs, depth, fetching, and a hundred thousand
arguments of any kind.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from desk import Desk, open_desk, open_one
from gatewright import Guard, Misuse
from gatewright.middleware.profiles import TenantRule
from gatewright.policy.conditions import ConditionSet
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.operators import regex_match
from gatewright.policy.references import MISSING
from gatewright.policy.validator import SchemaValidator, compile_schema

pytestmark = pytest.mark.promise("P11")

BOMBS = ("^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "^(.*a){12}$", "^([a-z]+)*$", "(a*)*b")
PLAIN = "^[a-z]+$"


def closed(**properties: Any) -> dict[str, Any]:
    """A base schema."""
    return {"type": "object", "properties": properties, "required": [*properties]}


def one(schema: Any, entry: str = "{ id: a, roles: [agent] }", give: Any = None, **stated: Any) -> Desk:
    """A guard whose only tool takes x and returns what it is to give."""

    def take(x: Any) -> Any:
        """Take a value."""
        return give

    return open_one(take, entry=entry, schema=schema, **stated)[0]


def ratio(bomb: Callable[[], object], plain: Callable[[], object], rounds: int = 60) -> float:
    """The fastest of many runs of one over the fastest of the other, taken turn by turn."""
    fastest = [float("inf"), float("inf")]
    for _ in range(rounds):
        for index, work in enumerate((bomb, plain)):
            began = time.perf_counter()
            work()
            fastest[index] = min(fastest[index], time.perf_counter() - began)
    return fastest[0] / fastest[1]


@pytest.mark.case(52)
@pytest.mark.parametrize("length", [28, 5000])
def test_a_call_against_a_bomb_takes_no_ten_times_a_plain_one(length: int) -> None:
    """Of the base schema's pattern and of an entry's, by what nearly matches."""
    text = json.dumps({"x": "a" * length + "!"})
    for bomb in BOMBS:
        times = {}
        for where in ("base", "entry"):
            for name, pattern in (("bomb", bomb), ("plain", PLAIN)):
                schema = closed(x={"type": "string", **({"pattern": pattern} if where == "base" else {})})
                cut = json.dumps({"pattern": pattern}) if where == "entry" else "{}"
                entry = f"{{ id: a, roles: [agent], arguments: {{ x: {cut} }} }}"
                desk = one(schema, entry)
                assert desk.call("some.thing", text).status == "invalid_arguments"
                token = desk.token()
                times[where, name] = lambda desk=desk, token=token: desk.guard.call("some.thing", text, token=token)
            assert ratio(times[where, "bomb"], times[where, "plain"], 12) < 10


@pytest.mark.case(52)
@pytest.mark.parametrize("length", [28, 5000])
def test_patterns_of_policies_are_linear_too(length: int) -> None:
    """In conditions, in a row of the model with regexMatch, and in the rule of an issuer's tenants."""
    text = "a" * length + "!"

    def asked(pattern: str) -> list[Callable[[], object]]:
        condition = ConditionSet({"x": {"pattern": pattern}})
        rule = TenantRule(frozenset(), compile_schema({"type": "string", "pattern": pattern}))
        return [
            lambda: condition.unmet({"x": text}, lambda kind, path: MISSING),
            lambda: regex_match(text, pattern.strip("^$")),
            lambda: rule.admits(text),
        ]

    for bomb in BOMBS:
        for worst, plain in zip(asked(bomb), asked(PLAIN), strict=True):
            worst()
            plain()
            assert ratio(worst, plain) < 10, bomb


DOUBLING: dict[str, Any] = {
    **closed(x={"$ref": "#/$defs/d0"}),
    "$defs": {
        **{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(40)},
        "d40": {"type": "string"},
    },
}
WIDE: dict[str, Any] = closed(x={"allOf": [{"anyOf": [{"type": "string"}] * 50}] * 50})


@pytest.mark.case(54)
@pytest.mark.parametrize("schema", [DOUBLING, WIDE, {"$ref": "#"}], ids=["doubling", "wide", "self"])
def test_a_schema_bomb_is_refused_where_it_is_registered_and_where_it_is_loaded(schema: Any) -> None:
    """By the decorator, and as a file of the catalog; nothing is expanded for it."""
    began = time.perf_counter()
    with pytest.raises(Misuse):
        one(schema)
    good = one(closed(x={}))
    (path, text) = next(iter(good.guard.catalog().items()))
    spoilt = json.dumps({**json.loads(text), "schema": schema})
    with pytest.raises(PolicyInvalid) as caught:
        open_desk({"rows": "", "tools": "tool: some.thing\n"}, tools=False, policies={**texts(), path: spoilt})
    assert "bad_catalog" in {finding.code for finding in caught.value.findings}
    assert time.perf_counter() - began < 2


def texts() -> dict[str, str]:
    """Policies with one tool."""
    from desk import ISSUER, policies

    return policies(ISSUER, rows="p, agent, *, some.thing, call, allow\n", tools="tool: some.thing\nallow: []\n")


TREE: dict[str, Any] = {
    **closed(x={"$ref": "#/$defs/t"}),
    "$defs": {"t": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/t"}}, {"type": "null"}]}},
}


FITS = 31
"""Levels below an argument that the decoder takes."""


def nested(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.case(54)
@pytest.mark.case(62)
@pytest.mark.parametrize("levels", [FITS, FITS + 1, 400, 10_000, 100_000])
def test_depth_never_reaches_a_validator(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As text or as a mapping, and as a tool's result: refused by the decoder, before anything recurses."""
    deepest: list[int] = []
    accepts, errors = SchemaValidator.accepts, SchemaValidator.errors

    def depth(value: Any) -> int:
        level, found = [value], 0
        while level:
            level = [
                child
                for each in level
                for child in (each.values() if isinstance(each, dict) else each)
                if isinstance(child, list | dict)
            ]
            found += 1
        return found

    def watch(method: Any) -> Any:
        def asked(self: SchemaValidator, value: Any, **more: Any) -> Any:
            deepest.append(depth(value) if isinstance(value, list | dict) else 0)
            return method(self, value, **more)

        return asked

    result = TREE["$defs"]["t"] | {"$defs": TREE["$defs"]}
    desk = one(TREE, give=nested(levels), result=result)
    desk.call("some.thing", {"x": []})
    monkeypatch.setattr(SchemaValidator, "accepts", watch(accepts))
    monkeypatch.setattr(SchemaValidator, "errors", watch(errors))
    began = time.perf_counter()
    raws = ('{"x":' + "[" * levels + "]" * levels + "}", "[" * levels, '{"x":' * levels)
    for raw in raws:
        answer = desk.call("some.thing", raw).to_json()
        assert answer["status"] == "invalid_arguments" or (levels == FITS and raw == raws[0])
        assert answer.get("reason") == "too_deep" or levels <= FITS + 1
    as_mapping = desk.guard.call("some.thing", {"x": nested(levels - 1)}, token=desk.token())
    assert as_mapping.status == ("ok" if levels == FITS else "invalid_arguments")
    result = desk.call("some.thing", {"x": []})
    assert result.status in ("ok", "failed")
    assert max(deepest, default=0) <= 64
    assert time.perf_counter() - began < 5


class Watch:
    """What the interpreter opens and connects to, by its audit events."""

    EVENTS = (
        "open",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.__new__",
        "socket.sendto",
        "urllib.Request",
        "os.open",
    )

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.on = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in self.EVENTS:
            self.seen.append(f"{event} {arguments}")

    def __enter__(self) -> Watch:
        self.on = True
        return self

    def __exit__(self, *_: object) -> None:
        self.on = False


@pytest.fixture(scope="module")
def watch() -> Watch:
    """One hook for the module: an audit hook stays."""
    return Watch()


def test_nothing_is_opened_or_connected_to(watch: Watch) -> None:
    """A listener on loopback and the interpreter's audit events, while registering, loading and calling."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        link = {"type": "string", "format": "uri", "description": url}
        inner = {"type": "object", "properties": {"link": link, "any": {"$ref": "#/$defs/u"}}}
        schema = {**closed(x=inner), "$id": url, "$defs": {"u": {}}}
        desk = one(schema, give={"$ref": url})
        values: tuple[Any, ...] = (url, {"$ref": url}, {"$schema": url, "$id": url}, ["file:///etc/hostname"] * 9)
        sent = [{"x": {"link": url, "any": value}} for value in values]
        assert desk.call("some.thing", sent[0]).status == "ok"
        with watch:
            for reference in (
                url,
                "file:///etc/hostname",
                "//127.0.0.1/a",
                "schema.json",
                f"{url}#/$defs/a",
                "urn:a:b",
            ):
                words = ({"$ref": reference}, {"$dynamicRef": reference}, {"$id": reference}, {"$schema": reference})
                for word in words:
                    with pytest.raises(Misuse):
                        Guard.check(closed(x=word), "{}")
                    with pytest.raises(Misuse):
                        one(closed(x=word))
            for arguments in sent:
                assert desk.call("some.thing", arguments).status == "ok"
                assert Guard.check(schema, arguments).status == "ok"
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert watch.seen == []


def test_loading_policies_that_refer_elsewhere_connects_to_nothing(watch: Watch) -> None:
    """A remote reference in a catalog file is a finding of that file."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        good = one(closed(x={}))
        ((path, text),) = good.guard.catalog().items()
        spoilt = json.dumps({**json.loads(text), "schema": closed(x={"$ref": url})})
        files = {**texts(), path: spoilt}
        with watch, pytest.raises(PolicyInvalid) as caught:
            open_desk({}, tools=False, policies=files)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert [finding.code for finding in caught.value.findings if finding.place.file == path] == ["bad_catalog"]
    assert watch.seen == []
