"""
What may a role call, for a person to read? Its tools as one page, in Markdown or in HTML that needs nothing else.

In come views with the schemas of their results; out comes a page. Nothing is in it that the role is not shown.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

from gatewright.policy.model import Json, Schema
from gatewright.policy.phrases import describe
from gatewright.policy.view import View
from gatewright.policy.wanted import asked_at, declared_names, places

__all__ = ["html_page", "markdown_page"]

Shown: TypeAlias = "Sequence[tuple[View, Schema | None]]"

_EFFECTS: Final = {"read": "It only reads.", "write": "It changes data, and a call may not be undone."}
_DEEPEST: Final = 6
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;width:100%}th,td{border:1px solid #ccc;padding:.3rem .6rem;text-align:left;"
    "vertical-align:top}code{background:#f3f3f3;padding:0 .2rem}h2{margin-top:2.5rem;border-top:1px solid #ccc}"
)


class _Row(NamedTuple):
    """One argument or one part of a result."""

    name: str
    needed: str
    what: str
    text: str


def markdown_page(whose: str, tools: Shown) -> str:
    """Return the page of *whose* tools in Markdown."""
    lines = [f"# Tools of {_plain(whose)}", ""]
    lines += [f"- [{_plain(view.spec.name)}](#{view.spec.name.replace('.', '')})" for view, _ in tools]
    for view, result in tools:
        spec = view.spec
        lines += ["", f"## {_plain(spec.name)}", "", _plain(spec.description), ""]
        lines += [f"- **{title}** {_plain(text)}" for title, text in _facts(view)]
        for title, rows in _tables(view, result):
            lines += ["", f"### {title}", ""]
            lines += ["| name | required | what | description |", "|---|---|---|---|"] if rows else ["None."]
            lines += [f"| `{_cell(row.name)}` | {' | '.join(map(_cell, row[1:]))} |" for row in rows]
    return "\n".join(lines) + "\n"


def html_page(whose: str, tools: Shown) -> str:
    """Return the page of *whose* tools as one HTML file: no script, no font, no picture from elsewhere."""
    title = html.escape(f"Tools of {whose}")
    body = [f"<h1>{title}</h1>", "<ul>"]
    body += [
        f'<li><a href="#{html.escape(view.spec.name)}">{html.escape(view.spec.name)}</a></li>' for view, _ in tools
    ]
    body.append("</ul>")
    for view, result in tools:
        name = html.escape(view.spec.name)
        body += [f'<h2 id="{name}"><code>{name}</code></h2>', f"<p>{html.escape(view.spec.description)}</p>", "<ul>"]
        body += [f"<li><b>{html.escape(lead)}</b> {html.escape(text)}</li>" for lead, text in _facts(view)]
        body.append("</ul>")
        for lead, rows in _tables(view, result):
            body += [f"<h3>{html.escape(lead)}</h3>", _table(rows) if rows else "<p>None.</p>"]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return f'<!doctype html>\n<html lang="en">\n<head>{head}<style>{_STYLE}</style></head>\n<body>\n' + "\n".join(
        [*body, "</body>", "</html>", ""]
    )


def _table(rows: Sequence[_Row]) -> str:
    head = "".join(f"<th>{word}</th>" for word in ("name", "required", "what", "description"))
    lines = [
        f"<tr><td><code>{html.escape(row.name)}</code></td>"
        + "".join(f"<td>{html.escape(each)}</td>" for each in row[1:])
        + "</tr>"
        for row in rows
    ]
    return "\n".join([f"<table><tr>{head}</tr>", *lines, "</table>"])


def _facts(view: View) -> Iterator[tuple[str, str]]:
    spec = view.spec
    yield "Use when:", spec.use_when
    yield "Not for:", spec.not_for
    yield "Side effects:", _EFFECTS[spec.kind]
    duties = [entry.duties for entry in view.entries]
    asking = [bool(each.approvals) for each in duties]
    if any(asking):
        yield "Approval:", "a person has to agree first." if all(asking) else "a person has to agree to some calls."
    if any(each.budgets for each in duties):
        yield "Budget:", "calls are limited over time."


def _tables(view: View, result: Schema | None) -> Iterator[tuple[str, list[_Row]]]:
    yield "Arguments", list(_rows(view.schema))
    if result is not None:
        rows = list(_rows(result))
        yield "Result", rows or [_Row("(all of it)", "yes", describe(asked_at(result, ())) or "any JSON", "")]


def _rows(schema: Schema, at: tuple[str | int, ...] = (), shown: str = "") -> Iterator[_Row]:
    """Yield a row for every property at *at* and below it; elements of an array stand under `[]`."""
    if len(at) > _DEEPEST:
        return
    alternatives = [node for node in places(schema, at, schema) if "properties" in node]
    for name in declared_names(schema, at):
        place, label = (*at, name), f"{shown}.{name}" if shown else name
        needed = [name in cast("Sequence[str]", node.get("required", ())) for node in alternatives]
        yield _Row(label, "yes" if all(needed) else "sometimes" if any(needed) else "no", *_words(schema, place))
        yield from _rows(schema, place, label)
        yield from _rows(schema, (*place, 0), f"{label}[]")
    if not at:
        yield from _rows(schema, (0,), "[]")


def _words(schema: Schema, place: tuple[str | int, ...]) -> tuple[str, str]:
    nodes = list(places(schema, place, schema))
    told = next((str(node["description"]) for node in nodes if "description" in node), "")
    defaults: list[Json] = [node["default"] for node in nodes if "default" in node]
    default = [f"Default: {json.dumps(defaults[0], ensure_ascii=False, default=dict)}."] if defaults else []
    asked: Mapping[str, Json] = asked_at(schema, place)
    return describe(asked) or "any JSON", " ".join([*([told] if told else []), *default])


def _plain(text: str) -> str:
    """*text* on one line, without what Markdown or HTML would take for markup."""
    return html.escape(" ".join(text.split()), quote=False)


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")
