"""
What are somebody else's tools in our dialect? Lists for OpenAI, Anthropic, Gemini, MCP and benchmarks, normalised.

In comes JSON as others write it; out come names, descriptions and schemas that register, a report of every change, and
what could not be taken, with the reason. Nothing is guessed in silence, and nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from gatewright.policy.dialect import SchemaInvalid, read_schema
from gatewright.policy.foreign import Change, normalise
from gatewright.policy.model import Json, JsonObject, Schema

__all__ = ["Change", "Fault", "Imported", "ImportedTool", "import_tools"]

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST: Final = 128
_LISTS: Final = ("tools", "functions", "functionDeclarations", "function_declarations", "function", "result")
_SCHEMAS: Final = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
)
_RESULTS: Final = ("outputSchema", "output_schema", "response")
_NOTED: Final = {"closed": "narrower", "typed": "same", "migrated": "same", "dropped": "same"}
_TEXTS: Final = {
    "closed": "closed: it did not say whether other names may be sent",
    "typed": "type object written out",
    "migrated": "written as draft 2020-12 writes it",
    "dropped": "dropped: it asserts nothing",
}


@dataclass(frozen=True, slots=True)
class ImportedTool:
    """
    One tool that registers as it is: `@guard.tool(name, schema=…, description=…)`.

    *result* is the schema of results where the list has one. *description* may be empty, which registration refuses.
    """

    name: str
    description: str
    schema: Schema
    result: Schema | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """A tool that could not be taken: at *pointer* of its schema or entry, for a stable *reason*."""

    tool: str
    pointer: str
    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{self.tool}#{self.pointer}: {self.reason}{f' ({self.hint})' if self.hint else ''}"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to. *tools* and *faults* stand in the order of the list."""

    tools: tuple[ImportedTool, ...]
    faults: tuple[Fault, ...]

    @property
    def report(self) -> tuple[str, ...]:
        """One line for every change and every fault."""
        changes = (f"{tool.name}#{change}" for tool in self.tools for change in tool.changes)
        return (*changes, *map(str, self.faults))


def import_tools(data: Json) -> Imported:
    """
    Return the tools of *data*, a foreign tool list decoded from JSON, in our dialect.

    Takes OpenAI's tools and functions, Anthropic's `input_schema`, MCP's `tools/list` result, Gemini's
    `functionDeclarations` and the types of the Berkeley Function-Calling Leaderboard (`dict`, `float`, `any`, `tuple`).
    Each tool's changes say whether they leave what is accepted the same, narrower or wider.

    >>> import_tools([{"name": "f", "description": "F.", "parameters": {"type": "dict"}}]).report[0]
    "f#/type: 'dict' is written 'object' (same)"
    """
    tools: list[ImportedTool] = []
    faults: list[Fault] = []
    taken: set[str] = set()
    for position, entry in enumerate(_entries(data)):
        outcome = _import(entry, position, taken)
        if isinstance(outcome, Fault):
            faults.append(outcome)
        else:
            taken.add(outcome.name.casefold())
            tools.append(outcome)
    return Imported(tuple(tools), tuple(faults))


def _entries(data: Json) -> Iterator[Json]:
    """Yield the entries of tools in *data*, through the wrappers that lists come in."""
    if isinstance(data, list | tuple):
        for each in data:
            yield from _entries(each)
        return
    if isinstance(data, Mapping) and not isinstance(data.get("name"), str):
        for keyword in _LISTS:
            if isinstance(data.get(keyword), Mapping | list | tuple):
                yield from _entries(data[keyword])
                return
    yield data


def _import(entry: Json, position: int, taken: set[str]) -> ImportedTool | Fault:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str) or not entry["name"]:
        return Fault(f"tool {position}", "", "not_a_tool", "an object with a name and a schema of arguments")
    given = cast("str", entry["name"])
    name = given if _NAME.fullmatch(given) else _ODD.sub("_", given).strip("_")[:_LONGEST]
    changes = (
        [] if name == given else [Change("/name", f"renamed {name!r}: 1 to 128 of letters, digits, _ . -", "same")]
    )
    if not name or name.casefold() in taken:
        return Fault(given, "/name", "taken_name", "two tools would have one name, or names that look alike")
    try:
        schema = _schema(_first(entry, _SCHEMAS), changes, name)
        result = _result(_first(entry, _RESULTS), changes, name)
    except SchemaInvalid as error:
        return Fault(name, error.pointer, error.reason, error.hint)
    description = entry.get("description")
    description = description.strip() if isinstance(description, str) else ""
    if not description:
        changes.append(Change("/description", "there is none, and registration wants one", "same"))
    return ImportedTool(name, description, schema, result, tuple(changes))


def _first(entry: JsonObject, keywords: Sequence[str]) -> Json:
    return next((entry[keyword] for keyword in keywords if entry.get(keyword) is not None), None)


def _schema(given: Json, changes: list[Change], name: str) -> Schema:
    whole = _normalised(given if given is not None else {}, changes)
    if not {"type", "$ref", "anyOf", "oneOf", "allOf"} & whole.keys():
        whole = {"type": "object", **whole}
    if whole.get("additionalProperties") in (True, {}):
        changes.append(Change("/additionalProperties", "dropped: the root takes no other names", "narrower"))
        whole = {keyword: value for keyword, value in whole.items() if keyword != "additionalProperties"}
    read = read_schema(whole, where=name)
    changes.extend(Change(note.pointer, _TEXTS[note.code], _NOTED[note.code]) for note in read.notes)
    return read.schema


def _result(given: Json, changes: list[Change], name: str) -> Schema | None:
    """Return the schema of results, which is not closed; None where there is none, or it is no object schema."""
    if not isinstance(given, Mapping):
        return None
    inner: list[Change] = []
    whole = _normalised(given, inner)
    try:
        read_schema({"type": "object", "properties": {"result": whole}, "$defs": whole.get("$defs", {})}, where=name)
    except SchemaInvalid as error:
        changes.append(Change(f"/result{error.pointer}", f"left out: {error.reason}", "wider"))
        return None
    changes.extend(Change(f"/result{change.pointer}", change.text, change.effect) for change in inner)
    return whole


def _normalised(given: Json, changes: list[Change]) -> Schema:
    if not isinstance(given, Mapping):
        raise SchemaInvalid("not_a_schema", hint="the schema of arguments is an object")
    whole, made = normalise(given)
    changes.extend(made)
    return whole
