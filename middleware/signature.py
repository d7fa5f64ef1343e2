"""
Which arguments does a tool's function take, and what is their schema? A function's signature, read once.

In comes a function as its developer wrote it; out come its parameters, the base schema and the schema of its result.
Calls nothing, and refuses what could only fail later.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from gatewright.middleware.coercion import coercion
from gatewright.middleware.page import Stamped
from gatewright.middleware.scope import RowScope
from gatewright.policy.caller import Caller
from gatewright.policy.definitions import pointed_at, rebuild, with_definitions
from gatewright.policy.errors import Misuse
from gatewright.policy.model import Json, Schema

__all__ = ["Parameter", "Signature", "base_schema", "read_signature", "result_schema"]

_REFUSED: Final = {
    inspect.Parameter.POSITIONAL_ONLY: "positional-only: a call has names",
    inspect.Parameter.VAR_POSITIONAL: "of any number: a call has names",
}
_STREAMS: Final = (AsyncIterator, AsyncIterable, AsyncGenerator)
_PYDANTIC: Final = (PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError, TypeError)
_MISSING: Final = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One parameter of a tool's function.

    *source* says where its value comes from: the argument of that name, the record that the argument names, the
    verified caller, the caller's row scope, or a framework (never the model). *coerce* turns JSON into what the
    annotation says, None where JSON is that already.
    """

    name: str
    annotation: Any
    default: Any = _MISSING
    source: Literal["argument", "record", "caller", "scope", "injected"] = "argument"
    coerce: Callable[[Any], Any] | None = None

    @property
    def is_optional(self) -> bool:
        """Whether the function can do without."""
        return self.default is not _MISSING


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a tool's function. *takes_rest*: it has `**rest`. *returns* is the return annotation."""

    parameters: tuple[Parameter, ...]
    takes_rest: bool
    returns: Any
    python: inspect.Signature

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """The parameters that come from the JSON."""
        return tuple(each for each in self.parameters if each.source in ("argument", "record"))


def read_signature(
    function: Callable[..., Any],
    *,
    local_names: Mapping[str, Any] | None = None,
    injected: Collection[str] = (),
    identified: Collection[str] = (),
) -> Signature:
    """
    Return the signature of *function*, its annotations resolved (*local_names* are those of where it was written).

    *injected* parameters come from a framework. *identified* are the arguments that name one resource each: such a
    parameter, annotated with a class, is given the loaded record.

    Raises:
        Misuse: it takes something that a call by names in JSON cannot give.
    """
    hints = _hints(function, local_names)
    python = inspect.signature(function)
    parameters = []
    takes_rest = False
    for each in python.parameters.values():
        if each.kind in _REFUSED:
            raise Misuse(f"{_named(function)}: the parameter {each.name} is {_REFUSED[each.kind]}", "name it plainly")
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            takes_rest = True
            continue
        parameters.append(_parameter(function, each, hints.get(each.name, _MISSING), injected, identified))
    unknown = sorted(set(injected) - {each.name for each in parameters})
    if unknown:
        raise Misuse(f"{_named(function)} has no parameter {unknown[0]} to inject", "name parameters of the function")
    returns = hints.get("return", _MISSING)
    resolved = [each.replace(annotation=hints.get(each.name, each.annotation)) for each in python.parameters.values()]
    return Signature(
        tuple(parameters), takes_rest, returns, python.replace(parameters=resolved, return_annotation=returns)
    )


def base_schema(signature: Signature) -> Schema:
    """
    Return the JSON Schema of the arguments as the annotations state it, not yet normalised.

    Raises:
        Misuse: an annotation has no JSON Schema.
    """
    properties: dict[str, Json] = {}
    asked = [each for each in signature.arguments if each.source == "argument"]
    schemas, definitions = _schemas({each.name: each.annotation for each in asked}, "validation")
    for each in signature.arguments:
        if each.source == "record":
            properties[each.name] = {"type": "string", "minLength": 1}
            continue
        default = _default(each) if each.is_optional else {}
        properties[each.name] = {**cast("Schema", schemas[each.name]), **default}
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "required": [each.name for each in signature.arguments if not each.is_optional],
        "additionalProperties": False,
    }
    return with_definitions(schema, definitions)


def result_schema(returns: Any) -> Schema | None:
    """
    Return the JSON Schema of what a function *returns*, None where its annotation says nothing.

    A stream of items is the array of them.
    """
    if returns in (_MISSING, Any):
        return None
    if get_origin(returns) in _STREAMS:
        returns = list[get_args(returns)[0]]  # type: ignore[misc]
    if get_origin(returns) is Stamped:
        returns = get_args(returns)[0]
    schemas, definitions = _schemas({"": returns}, "serialization")
    schema = cast("Schema", schemas[""])
    if schema.keys() == {"$ref"}:
        schema = cast("Schema", definitions[pointed_at(schema["$ref"])])
    return with_definitions(schema, definitions)


def _parameter(
    function: Callable[..., Any],
    parameter: inspect.Parameter,
    annotation: Any,
    injected: Collection[str],
    identified: Collection[str],
) -> Parameter:
    name, default = parameter.name, parameter.default
    if name in injected:
        return Parameter(name, annotation, default, "injected")
    if annotation is _MISSING:
        hint = "a bound method is decorated on its object" if name in ("self", "cls") else "annotate it"
        raise Misuse(f"{_named(function)}: the parameter {name} has no annotation", hint)
    if isinstance(default, FieldInfo):
        raise Misuse(f"{_named(function)}: the default of {name} is a Field", "write Annotated[…, Field(…)]")
    if annotation is Caller:
        return Parameter(name, annotation, default, "caller")
    if annotation is RowScope:
        return Parameter(name, annotation, default, "scope")
    if name in identified and _is_mapping(annotation):
        return Parameter(name, annotation, default, "record")
    if name in identified and _is_model(annotation):
        return Parameter(name, annotation, default, "record", _adapter(name, annotation).validate_python)
    return Parameter(name, annotation, default, "argument", coercion(annotation))


def _hints(function: Callable[..., Any], local_names: Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        return get_type_hints(function, localns=dict(local_names or {}), include_extras=True)
    except (NameError, AttributeError, TypeError) as error:
        raise Misuse(
            f"{_named(function)}: an annotation cannot be resolved", "import what it names, outside TYPE_CHECKING"
        ) from error


def _is_mapping(annotation: Any) -> bool:
    core = _core(annotation)
    return is_typeddict(core) or get_origin(core) in (dict, Mapping) or core in (dict, Mapping)


def _is_model(annotation: Any) -> bool:
    core = _core(annotation)
    return isinstance(core, type) and (issubclass(core, BaseModel) or dataclasses.is_dataclass(core))


def _core(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _adapter(name: str, annotation: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation)
    except _PYDANTIC as error:
        raise Misuse(f"the annotation of {name or 'the result'} has no JSON Schema", "give schema= yourself") from error


class _Plain(GenerateJsonSchema):
    """Schemas without the titles that pydantic makes of names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the answer is the same for every field
        return False


def _schemas(
    annotations: Mapping[str, Any], mode: Literal["validation", "serialization"]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the schema of each annotation and the definitions that they share."""
    inputs: list[tuple[str, Literal["validation", "serialization"], TypeAdapter[Any]]] = [
        (name, mode, _adapter(name, annotation)) for name, annotation in annotations.items()
    ]
    try:
        found, rest = TypeAdapter.json_schemas(inputs, schema_generator=_Plain)
    except _PYDANTIC as error:
        raise Misuse("an annotation has no JSON Schema", "give schema= or result= yourself") from error
    definitions = cast("JsonSchemaValue", rest.get("$defs", {}))
    return (
        {name: _untitled(schema) for (name, _), schema in found.items()},
        {name: _untitled(schema) for name, schema in definitions.items()},
    )


def _untitled(schema: Json) -> Json:
    """Return *schema* without titles: they repeat the names of classes, which are no business of a model's."""
    if not isinstance(schema, Mapping):
        return schema
    out = rebuild(schema, _untitled)
    out.pop("title", None)
    return out


def _default(parameter: Parameter) -> dict[str, Json]:
    """The default as JSON, where it has one; else the argument is optional without a default."""
    try:
        value = _adapter(parameter.name, parameter.annotation).dump_python(
            parameter.default, mode="json", warnings=False
        )
    except Exception:  # noqa: BLE001 - a default of another kind is the function's own affair
        return {}
    return {"default": value}


def _named(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))
