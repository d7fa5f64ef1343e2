"""
What does a policies folder say? Texts by path come in, plain mappings go out: names, rows, tools, tenants.

The folder is taken to be valid; nothing here explains a fault.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from reference.texts import read_rows, read_yaml

WIDTH = {"p": 5, "g": 3, "g2": 2}


def read_policies(texts: Mapping[str, str]) -> dict[str, Any]:
    """The whole folder as plain data."""
    names = _one(texts, "names.yaml")
    policies: dict[str, Any] = {
        "names": names,
        "rows": {"p": [], "g": [], "g2": []},
        "claims": _one(texts, "identity.yaml").get("claims", {}).get("properties", {}),
        "tools": {},
        "defaults": _defaults(names),
        "tenants": {tenant: {"limits": {}, "settings": _defaults(names)} for tenant in names.get("tenants", {})},
    }
    conditions = _one(texts, "conditions.yaml")
    for path in sorted(texts):
        _read_file(policies, conditions, path, texts[path])
    return policies


def _read_file(policies: dict[str, Any], conditions: Mapping[str, Any], path: str, text: str) -> None:
    parts = path.split("/")
    if parts[-1] == "policy.csv":
        _add_rows(policies["rows"], text)
    elif parts[0] == "tools" and path.endswith(".yaml"):
        for document in read_yaml(text):
            _add_tools(policies["tools"], expand(document, conditions))
    elif parts[0] == "tenants" and parts[-1] == "limits.yaml":
        limits = expand(read_yaml(text)[0], conditions)
        policies["tenants"][parts[1]]["limits"] = {tool: items for tool, items in limits.items() if tool != "format"}
    elif parts[0] == "tenants" and parts[-1] == "settings.yaml":
        settings = read_yaml(text)[0]
        policies["tenants"][parts[1]]["settings"] |= {name: item for name, item in settings.items() if name != "format"}


def _one(texts: Mapping[str, str], path: str) -> dict[str, Any]:
    documents = read_yaml(texts.get(path, ""))
    return documents[0] if documents else {}


def _defaults(names: Mapping[str, Any]) -> dict[str, Any]:
    properties = names.get("settings", {}).get("properties", {})
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}


def _add_rows(rows: dict[str, list[dict[str, Any]]], text: str) -> None:
    for kind, *cells in read_rows(text):
        width = WIDTH[kind]
        until = cells[width] if len(cells) > width else ""
        rows[kind].append({"cells": cells[:width], "until": dt.date.fromisoformat(until) if until else None})


def _add_tools(tools: dict[str, Any], document: Mapping[str, Any]) -> None:
    for name in document.get("tools", [document.get("tool")]):
        if name is None:
            continue
        tool = tools.setdefault(name, {"limits": [], "allow": None, "stages": None})
        tool["limits"] += document.get("limits", [])
        if "allow" in document:
            tool["allow"] = document["allow"]
        if "stages" in document:
            stages = set(document["stages"])
            tool["stages"] = stages if tool["stages"] is None else tool["stages"] & stages


def expand(value: Any, conditions: Mapping[str, Any]) -> Any:
    """*value* with every `$use` replaced by the named condition, merged with its siblings."""
    if isinstance(value, list):
        return [expand(item, conditions) for item in value]
    if not isinstance(value, dict):
        return value
    merged = {name: expand(item, conditions) for name, item in value.items() if name != "$use"}
    if "$use" in value:
        merged |= expand(conditions[value["$use"]], conditions)
    return merged
