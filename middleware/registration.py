"""
What does a decorator say about a tool? Facts, resources, rules and checks, held beside the tool's catalog record.

In come a function and what its developer states; out comes a `Tool`, or `Misuse` at once. Runs none of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, cast

from gatewright.middleware.continuation import cursor_argument
from gatewright.middleware.pinned import SchemaSource, read_pin, read_stated
from gatewright.middleware.signature import Parameter, Signature, base_schema, read_signature, result_schema
from gatewright.middleware.supply import Supply
from gatewright.middleware.unresolved import Reconcile
from gatewright.policy.catalog import spec_digest
from gatewright.policy.dialect import SchemaInvalid, check_schema, compile_schema
from gatewright.policy.errors import Misuse
from gatewright.policy.model import FactSpec, ResourceSpec, Schema, ToolSpec
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.pruning import children

__all__ = ["Check", "Fact", "Flavour", "Loader", "Resource", "Rule", "SchemaSource", "Statement", "Tool", "register"]

Rule: TypeAlias = "Callable[[dict[str, Any], Mapping[str, Any]], Mapping[str, Any]]"
"""(arguments, settings) → arguments; pure; raises `Invalid` where it refuses."""

Loader: TypeAlias = "Callable[[str, str], Any]"
"""(id, tenant) → the record as a mapping or a model, or None; may be async."""

Check: TypeAlias = "Callable[[dict[str, Any], dict[str, Any]], Any]"
"""(arguments, resources) → None; may do I/O and be async; raises `Conflict`, `NotFound` or `Failed`."""

Flavour: TypeAlias = Literal["sync", "async", "stream"]
"""Of a tool's function: def, async def, or an async generator."""

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_FLAGS: Final = ("echo", "secret", "loggable")
_JOIN: Final = re.compile(r"@(?=/)")


@dataclass(frozen=True, slots=True)
class Fact:
    """
    A value computed from the filled arguments by a pure *function*, for policies to set conditions on.

    *field* is the argument (a JSON pointer) that an unmet condition is reported at. One that raises is absent.
    """

    function: Callable[[dict[str, Any]], Any]
    field: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """
    A record that a call names: its *type*, the pointer to its id in the arguments, and its loader.

    *at* may hold `*`, and several pointers joined with `@`. *scope* `tenant` promises that *load* looks only inside
    the tenant it is given. *attributes* is the JSON Schema of what policies may ask of the record.
    """

    type: str
    at: str
    load: Loader | None = None
    scope: Literal["tenant", "any"] = "any"
    attributes: Schema | None = None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """All that a decorator states about a tool beside its function."""

    name: str
    kind: Literal["read", "write"]
    use_when: str
    not_for: str
    description: str | None = None
    action: str | None = None
    facts: Mapping[str, Fact | Callable[[dict[str, Any]], Any]] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    resources: Mapping[str, Resource] = field(default_factory=dict)
    checks: Sequence[Check] = ()
    reasons: Collection[str] = ()
    context: Mapping[str, Schema] = field(default_factory=dict)
    schema: SchemaSource = None
    result: SchemaSource = None
    timeout: float | None = None
    cursor: str | None = None
    reconcile: Reconcile | None = None
    idempotent: bool = False
    injected: Collection[str] = ()
    echo: Collection[str] = ()
    secret: Collection[str] = ()
    loggable: Collection[str] = ()
    big_integers: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """
    A registered tool: its catalog record and the functions that belong to it.

    *reconcile* finds out whether a write of it happened; *idempotent* says that one may be started again under its key.
    """

    spec: ToolSpec
    function: Callable[..., Any]
    flavour: Flavour
    signature: Signature
    supply: Supply
    loaders: Mapping[str, Loader]
    checks: tuple[Check, ...]
    timeout: float | None
    big_integers: bool
    cursor: str | None
    reconcile: Reconcile | None = None
    idempotent: bool = False

    @property
    def name(self) -> str:
        """The tool's canonical name."""
        return self.spec.name

    @property
    def records(self) -> tuple[Parameter, ...]:
        """The parameters that are given a loaded record."""
        return tuple(each for each in self.signature.parameters if each.source == "record")

    @property
    def takes_scope(self) -> bool:
        """Whether the function is told which rows its caller may have."""
        return any(each.source == "scope" for each in self.signature.parameters)


def register(function: Any, stated: Statement, local_names: Mapping[str, Any] | None = None) -> Tool:
    """
    Return the tool that *function* is, as *stated*.

    Raises:
        Misuse: anything about it could never work, with what to change.
    """
    flavour = _flavour(function, stated)
    _check_words(function, stated)
    signature = read_signature(
        function, local_names=local_names, injected=stated.injected, identified=_identified(stated.resources)
    )
    schema = _argument_schema(signature, stated)
    _check_places(stated, schema)
    _check_records(signature, stated)
    facts = {name: each if isinstance(each, Fact) else Fact(each) for name, each in stated.facts.items()}
    result = _result_schema(signature, stated)
    cursor = cursor_argument(stated.name, stated.cursor, schema, result)
    spec = _spec(function, stated, facts, schema, result, cursor)
    return Tool(
        spec=replace(spec, digest=spec_digest(spec)),
        function=function,
        flavour=flavour,
        signature=signature,
        supply=Supply(
            signature, {name: fact.function for name, fact in facts.items()}, tuple(stated.rules), spec.reasons
        ),
        loaders={name: each.load for name, each in stated.resources.items() if each.load is not None},
        checks=tuple(stated.checks),
        timeout=stated.timeout,
        big_integers=stated.big_integers,
        cursor=cursor,
        reconcile=stated.reconcile,
        idempotent=stated.idempotent,
    )


def _flavour(function: Any, stated: Statement) -> Flavour:
    if isinstance(function, classmethod | staticmethod | property):
        kind = type(function).__name__
        raise Misuse(
            f"{stated.name}: the guard stands above @{kind}", f"put @guard.tool right above def, below @{kind}"
        )
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise Misuse(f"{stated.name}: a tool is a function, not {type(function).__name__}", "decorate a def")
    if inspect.isgeneratorfunction(function):
        raise Misuse(
            f"{stated.name}: a sync generator cannot be rechecked while it waits", "make it an async generator"
        )
    if inspect.isasyncgenfunction(function):
        if stated.kind == "write":
            raise Misuse(f"{stated.name}: a stream is a read", "return the outcome of a write")
        return "stream"
    return "async" if inspect.iscoroutinefunction(function) else "sync"


def _check_words(function: Any, stated: Statement) -> None:
    if not _NAME.fullmatch(stated.name):
        raise Misuse(f"{stated.name!r} is no tool name", "1 to 128 of letters, digits, '_', '.' and '-'")
    if stated.kind not in ("read", "write"):
        raise Misuse(f"{stated.name}: kind is {stated.kind!r}", "read, or write for anything that changes something")
    for word, text in (("use_when", stated.use_when), ("not_for", stated.not_for)):
        if not isinstance(text, str) or not text.strip():
            raise Misuse(f"{stated.name}: {word} is empty", "a model needs to know when to call it, and when not")
    if not _description(function, stated):
        raise Misuse(f"{stated.name}: there is no description", "write a docstring, or give description=")
    if stated.timeout is not None and not stated.timeout > 0:
        raise Misuse(f"{stated.name}: timeout is {stated.timeout!r}", "seconds, more than 0")
    if stated.kind == "read" and (stated.reconcile is not None or stated.idempotent):
        raise Misuse(f"{stated.name}: a read has no outcome to find out", "leave out reconcile= and idempotent=")
    if stated.reconcile is not None and not callable(stated.reconcile):
        raise Misuse(f"{stated.name}: reconcile= is no function", "give (operation) → Happened(…), …")


def _description(function: Any, stated: Statement) -> str:
    return inspect.cleandoc(stated.description if stated.description is not None else function.__doc__ or "").strip()


def _identified(resources: Mapping[str, Resource]) -> frozenset[str]:
    """The top-level arguments that name one resource each, and with it the record."""
    pointers = [parse_pointer(each.at) for each in resources.values() if len(_JOIN.split(each.at)) == 1]
    return frozenset(pointer[0] for pointer in pointers if len(pointer) == 1)


def _argument_schema(signature: Signature, stated: Statement) -> Schema:
    given = read_stated(stated.schema, stated.name, "schema")
    try:
        schema = check_schema(base_schema(signature) if given is None else given, where=stated.name)
    except SchemaInvalid as error:
        raise Misuse(f"the schema of {error}", "see docs/schemas.md for what is enforced") from error
    if given is None and signature.takes_rest:
        raise Misuse(f"{stated.name}: **rest has no schema", "name the parameters, or give schema=")
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    known = {each.name: each for each in signature.arguments}
    for name in () if signature.takes_rest else properties:
        if name not in known:
            raise Misuse(f"{stated.name}: the schema has {name}, the function does not", "add the parameter")
    for name, parameter in known.items():
        needed = name in cast("Sequence[str]", schema.get("required", ())) or "default" in properties.get(name, {})
        if not needed and not parameter.is_optional:
            raise Misuse(f"{stated.name}: {name} may be left out, the function needs it", "give it a default")
    return schema


def _result_schema(signature: Signature, stated: Statement) -> Schema | None:
    schema = read_stated(stated.result, stated.name, "result") or result_schema(signature.returns)
    if schema is None:
        return None
    try:
        compile_schema(schema)
    except SchemaInvalid as error:
        raise Misuse(f"{stated.name}: the result's {error}", "give result= yourself") from error
    return schema


def _check_records(signature: Signature, stated: Statement) -> None:
    """A parameter that is given a record needs something that loads it."""
    loaded = {each.at.lstrip("/") for each in stated.resources.values() if each.load is not None}
    for parameter in signature.parameters:
        if parameter.source == "record" and parameter.name not in loaded:
            raise Misuse(f"{stated.name}: {parameter.name} is a record and has no loader", "give Resource(load=…)")


def _check_places(stated: Statement, schema: Schema) -> None:
    """Every pointer that the decorator gives must lead to an argument."""
    for name, fact in stated.facts.items():
        if isinstance(fact, Fact) and fact.field:
            _check_place(stated, f"the fact {name}", fact.field, schema)
    for name, resource in stated.resources.items():
        for part in _JOIN.split(resource.at):
            _check_place(stated, f"the resource {name}", part, schema)
    for flag in _FLAGS:
        for place in cast("Collection[str]", getattr(stated, flag)):
            _check_place(stated, flag, place, schema)


def _check_place(stated: Statement, what: str, place: str, schema: Schema) -> None:
    pointer = parse_pointer(place)
    if not pointer or not any(True for _ in children(schema, pointer, schema)):
        raise Misuse(f"{stated.name}: {what} names no argument: {place!r}", "a JSON pointer such as /end")


def _spec(
    function: Any,
    stated: Statement,
    facts: Mapping[str, Fact],
    schema: Schema,
    result: Schema | None,
    cursor: str | None,
) -> ToolSpec:
    flags: dict[str, frozenset[str]] = {}
    for flag in _FLAGS:
        for place in cast("Collection[str]", getattr(stated, flag)):
            pointer = place if place.startswith("/") else f"/{place}"
            flags[pointer] = flags.get(pointer, frozenset()) | {flag}
    if cursor is not None:
        flags[f"/{cursor}"] = flags.get(f"/{cursor}", frozenset()) | {"cursor"}
    return ToolSpec(
        name=stated.name,
        kind=stated.kind,
        action=stated.action or stated.kind,
        description=_description(function, stated),
        use_when=stated.use_when.strip(),
        not_for=stated.not_for.strip(),
        schema=schema,
        result=result,
        facts={name: FactSpec(name, fact.field) for name, fact in facts.items()},
        resources={
            name: ResourceSpec(name, each.type, each.at, each.scope, each.attributes)
            for name, each in stated.resources.items()
        },
        flags=flags,
        rules=tuple(_named(rule) for rule in stated.rules),
        checks=tuple(_named(check) for check in stated.checks),
        reasons=frozenset(stated.reasons),
        context=dict(stated.context),
        schema_source=read_pin(stated.schema),
    )


def _named(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
