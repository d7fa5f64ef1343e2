"""
What does the published result schema say after the cuts? The schema's half of `cuts`.

In come a result schema and an entry's cuts; out comes a schema that accepts whatever the cuts leave of an accepted
value, without the names that are never shown. Where no exact form is at hand it accepts more, never less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final, TypeAlias, cast

from gatewright.policy.definitions import split_definitions, with_definitions
from gatewright.policy.masks import mask_schema
from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.pruning import resolve
from gatewright.policy.toolfile import ResultCuts

__all__ = ["ShownTree", "cut_published", "descend", "flat_root", "shown_tree"]

ShownTree: TypeAlias = "dict[str, ShownTree]"
"""Names that are shown, each with what is shown below it; an empty tree shows everything."""

_FRAGILE: Final = frozenset(
    {
        *("const", "enum", "default", "examples", "not", "if", "then", "else"),
        *("minProperties", "dependentRequired", "dependentSchemas"),
        *("minItems", "uniqueItems", "contains", "minContains", "maxContains"),
    }
)
"""What a value may stop satisfying, or what may quote it, once something below it is taken away or masked."""

_MOST_HOPS: Final = 32
_ALL_PARTS: Final = frozenset({"properties", "patternProperties", "required", "items", "prefixItems"})


def cut_published(schema: Schema, cuts: ResultCuts) -> Schema:
    """Return *schema* after *cuts*, in their order."""
    for pointer in cuts.keep:
        schema = _place(schema, pointer, _filtered, schema)
    if cuts.show is not None:
        schema = _object(_shown(schema, shown_tree(cuts.show), schema))
    for pointer in cuts.hidden:
        schema = _place(schema, pointer[:-1], partial(_without, name=pointer[-1]), schema)
    for pointer, mask in cuts.mask.items():
        schema = _place(schema, pointer, partial(_masked, mask=mask), schema)
    if cuts.rows is not None:
        schema = _limited(schema, cuts.rows, schema)
    return with_definitions(*split_definitions(schema))


def flat_root(schema: Schema) -> Schema:
    """Return *schema* with the reference, or the only member of an `allOf`, that is its whole root put in its place."""
    body, definitions = split_definitions(schema)
    for _ in range(_MOST_HOPS):
        branches = _list(body.get("allOf"))
        if "$ref" in body:
            body = resolve(body, {**body, "$defs": definitions})
        elif len(branches) == 1 and not body.keys() - {"allOf", "title", "description"}:
            body = {**_object(branches[0]), **{name: text for name, text in body.items() if name != "allOf"}}
        else:
            break
    return with_definitions(body, definitions)


def shown_tree(pointers: Iterable[Pointer]) -> ShownTree:
    """Return the tree of *pointers*; a pointer to a parent shows all below it."""
    tree: ShownTree = {}
    whole = set(pointers)
    for pointer in whole:
        if any(pointer[:length] in whole for length in range(len(pointer))):
            continue
        node = tree
        for name in pointer:
            node = node.setdefault(name, {})
    return tree


def descend(tree: ShownTree, name: str) -> ShownTree | None:
    """Return what is shown below *name*, None where nothing is; `*` stands for every name."""
    named, every = tree.get(name), tree.get("*")
    if named is None or every is None:
        return every if named is None else named
    return _joined(named, every)


def _joined(first: ShownTree, second: ShownTree) -> ShownTree:
    """What either tree shows."""
    if not first or not second:
        return {}
    both = {name: _joined(first[name], second[name]) for name in first if name in second}
    return {**first, **second, **both}


def _place(schema: Json, pointer: Pointer, change: Callable[[Schema], Schema], root: Schema) -> Schema:
    """Return *schema* with *change* made wherever *pointer* leads, and loosened on the way."""
    if not isinstance(schema, Mapping):
        return _object(schema)
    out = _loosened(schema, root)
    for keyword in ("allOf", "anyOf"):
        if keyword in out:
            out[keyword] = [_place(branch, pointer, change, root) for branch in _list(out[keyword])]
    if not pointer:
        return change(out)
    head, rest = pointer[0], pointer[1:]
    for keyword, name, exact in _steps(out, head):
        held = out[keyword]
        child = held if name is None else cast("Mapping[str | int, Json]", held)[name]
        changed: Json = _place(child, rest, change, root)
        out[keyword] = _put(held, name, changed if exact else {"anyOf": [child, changed]})
    return out


def _steps(schema: Mapping[str, Json], head: str) -> Iterator[tuple[str, str | int | None, bool]]:
    """
    Yield where *head* leads: the keyword, the name or index in it, and whether all that it covers is meant.

    A name leads into maps too, where its neighbours share one schema. Arrays are entered by `*` alone.
    """
    every = head == "*"
    declared = _names(schema, "properties")
    for name in declared if every else [head] if head in declared else []:
        yield "properties", name, True
    for name in _names(schema, "patternProperties"):
        yield "patternProperties", name, every
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if isinstance(schema.get(keyword), Mapping) and (every or head not in declared):
            yield keyword, None, every
    if every:
        yield from ((keyword, None, True) for keyword in ("items", "unevaluatedItems") if keyword in schema)
        yield from (("prefixItems", index, True) for index in range(len(_list(schema.get("prefixItems")))))


def _put(held: Json, name: str | int | None, child: Json) -> Json:
    if name is None:
        return child
    if isinstance(name, int):
        return [child if index == name else item for index, item in enumerate(_list(held))]
    return {**_object(held), name: child}


def _loosened(schema: Schema, root: Schema) -> dict[str, Json]:
    """Return *schema*, its reference put in place, without what may break once something below is cut."""
    found = resolve(schema, root)
    out: dict[str, Json] = {keyword: value for keyword, value in found.items() if keyword not in _FRAGILE}
    if "oneOf" in out:
        alternatives: Json = {"anyOf": out.pop("oneOf")}
        out["allOf"] = [*_list(out.get("allOf")), alternatives]
    return out


def _filtered(place: Schema) -> Schema:
    """An array some of whose elements are left out: what stood at one place may stand at another."""
    prefix = _list(place.get("prefixItems"))
    if not prefix:
        return place
    out = {keyword: value for keyword, value in place.items() if keyword not in ("prefixItems", "items")}
    rest = place.get("items", True)
    if rest is not True:
        out["items"] = {"anyOf": [*prefix, *([] if rest is False else [rest])]}
    return out


def _without(place: Schema, name: str) -> Schema:
    """An object without the property *name*, or without any; of an array, `*` leaves no element."""
    out = {keyword: value for keyword, value in place.items() if name != "*" or keyword not in _ALL_PARTS}
    if "properties" in out:
        out["properties"] = {key: child for key, child in _object(out["properties"]).items() if key != name}
    if "required" in out:
        out["required"] = [key for key in _list(out["required"]) if key != name]
    return {**out, "maxItems": 0, "maxProperties": 0} if name == "*" else out


def _masked(_place: Schema, mask: str) -> Schema:
    return mask_schema(mask)


def _shown(schema: Json, tree: ShownTree, root: Schema) -> Json:
    """Return the schema of what *tree* names of a value."""
    if not tree or not isinstance(schema, Mapping):
        return schema
    out = _loosened(schema, root)
    for keyword in ("allOf", "anyOf"):
        if keyword in out:
            out[keyword] = [_shown(branch, tree, root) for branch in _list(out[keyword])]
    if "properties" in out:
        out["properties"] = dict(_shown_properties(_object(out["properties"]), tree, root))
    if "required" in out:
        out["required"] = [name for name in _list(out["required"]) if _stays(out, str(name), tree, root)]
    for keyword in ("additionalProperties", "unevaluatedProperties", "unevaluatedItems"):
        if isinstance(out.get(keyword), Mapping):
            del out[keyword]
    if "patternProperties" in out:
        out["patternProperties"] = {name: {} for name in _names(out, "patternProperties")}
    return _shown_elements(out, tree, root)


def _shown_elements(place: Schema, tree: ShownTree, root: Schema) -> Schema:
    """The elements of an array, all under one schema since some may be left out."""
    out = dict(_filtered(place))
    items = out.pop("items", None)
    branch = tree.get("*")
    if branch is not None and items is not None:
        out["items"] = _shown(items, branch, root)
    return out


def _shown_properties(properties: Schema, tree: ShownTree, root: Schema) -> Iterator[tuple[str, Json]]:
    for name, child in properties.items():
        branch = descend(tree, name)
        if branch is not None:
            yield name, _shown(child, branch, root)


def _stays(place: Schema, name: str, tree: ShownTree, root: Schema) -> bool:
    """Whether a required property is there after `show`: it is named, and never a scalar where more is named."""
    branch = descend(tree, name)
    if branch is None:
        return False
    child = _object(_object(place.get("properties", {})).get(name, {}))
    return not branch or resolve(child, root).get("type") in ("object", "array")


def _limited(schema: Schema, rows: int, root: Schema) -> Schema:
    """The root array or its `items` with at most *rows* elements; other arrays, which may be cut too, with fewer."""
    out = _loosened(schema, root)
    for keyword in ("allOf", "anyOf"):
        if keyword in out:
            out[keyword] = [_limited(_object(branch), rows, root) for branch in _list(out[keyword])]
    for keyword in ("properties", "patternProperties"):
        if keyword in out:
            places = _object(out[keyword])
            out[keyword] = {
                name: _shortened(child, rows if name == "items" else None, root) for name, child in places.items()
            }
    if isinstance(out.get("additionalProperties"), Mapping):
        out["additionalProperties"] = _shortened(out["additionalProperties"], None, root)
    return {**out, "maxItems": _least(out, rows)} if _may_be_array(out) else out


def _shortened(schema: Json, rows: int | None, root: Schema) -> Json:
    if not isinstance(schema, Mapping) or not _may_be_array(resolve(schema, root)):
        return schema
    out = _loosened(schema, root)
    for keyword in ("allOf", "anyOf"):
        if keyword in out:
            out[keyword] = [_shortened(branch, rows, root) for branch in _list(out[keyword])]
    return out if rows is None else {**out, "maxItems": _least(out, rows)}


def _least(schema: Mapping[str, Json], rows: int) -> int:
    most = schema.get("maxItems")
    return min(rows, most) if isinstance(most, int) else rows


def _may_be_array(schema: Mapping[str, Json]) -> bool:
    if "type" not in schema and ("const" in schema or "enum" in schema):
        return any(isinstance(value, list | tuple) for value in (schema.get("const"), *_list(schema.get("enum"))))
    kinds = schema.get("type", "array")
    named = kinds == "array" or (isinstance(kinds, list | tuple) and "array" in kinds)
    return named or any(keyword in schema for keyword in ("anyOf", "oneOf", "allOf"))


def _names(schema: Mapping[str, Json], keyword: str) -> list[str]:
    held = schema.get(keyword)
    return list(held) if isinstance(held, Mapping) else []


def _list(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else []


def _object(value: Json) -> Schema:
    """A schema as a mapping: true is `{}`, false what nothing satisfies."""
    if isinstance(value, Mapping):
        return value
    return {"not": {}} if value is False else {}
