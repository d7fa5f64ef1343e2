"""
Commands about what a role is shown: one tool's schema in a provider's form, and all its tools as a page.

In come a policies folder and a caller made of options; out come renderings. Decides nothing that a guard would not.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from gatewright.cli.pages import html_page, markdown_page
from gatewright.middleware.listing import render_view, shown_result
from gatewright.policy.calendars import context_at
from gatewright.policy.caller import Actor, Caller
from gatewright.policy.errors import Misuse
from gatewright.policy.folder import load_policies
from gatewright.policy.model import Json
from gatewright.policy.rendering import Format
from gatewright.policy.snapshot import Snapshot, compile_snapshot
from gatewright.policy.source import read_folder
from gatewright.policy.typescript import render_typescript
from gatewright.policy.verdict import admit
from gatewright.policy.view import View
from gatewright.policy.zod import render_zod

__all__ = ["Form", "Page", "docs", "schema"]


class Form(StrEnum):
    """What a schema is written as."""

    JSON = "json"
    OPENAI = "openai"
    OPENAI_STRICT = "openai-strict"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    MCP = "mcp"
    TYPESCRIPT = "typescript"
    ZOD = "zod"


class Page(StrEnum):
    """What a page is written as."""

    MARKDOWN = "markdown"
    HTML = "html"


_Folder = Annotated[Path, typer.Option(help="The policies folder.")]
_Roles = Annotated[list[str], typer.Option("--role", help="A role of the caller; may be said several times.")]
_Tenant = Annotated[str, typer.Option(help="The caller's tenant.")]
_Claims = Annotated[list[str] | None, typer.Option("--claim", help="name=value, JSON or a text; several times.")]
_Subject = Annotated[str, typer.Option(help="The caller's subject, for rows of its own.")]
_Actors = Annotated[list[str] | None, typer.Option("--actor-role", help="A role of the agent acting for the caller.")]
_Stage = Annotated[str | None, typer.Option(help="context.stage, for tools that have stages.")]


def schema(
    tool: Annotated[str, typer.Argument(help="The tool's name.")],
    role: _Roles,
    tenant: _Tenant,
    format: Annotated[Form, typer.Option(help="What to write.")] = Form.JSON,
    policies: _Folder = Path("policies"),
    claim: _Claims = None,
    subject: _Subject = "anyone",
    actor_role: _Actors = None,
    stage: _Stage = None,
) -> None:
    """Write the schema of a tool as a role of a tenant has it; what a form cannot say is told on standard error."""
    snapshot = compile_snapshot(load_policies(read_folder(policies)))
    caller = _caller(snapshot, role, tenant, subject, claim, actor_role)
    view = _admitted(snapshot, caller, tool, stage)
    if view is None:
        print(f"{tool} is not open to this caller", file=sys.stderr)
        raise typer.Exit(1)
    print(_written(view, format))


def docs(
    role: _Roles,
    tenant: _Tenant,
    format: Annotated[Page, typer.Option(help="What to write.")] = Page.MARKDOWN,
    policies: _Folder = Path("policies"),
    claim: _Claims = None,
    subject: _Subject = "anyone",
    actor_role: _Actors = None,
    stage: _Stage = None,
) -> None:
    """Write a page about the tools that a role of a tenant has: when to use them, their arguments and results."""
    snapshot = compile_snapshot(load_policies(read_folder(policies)))
    caller = _caller(snapshot, role, tenant, subject, claim, actor_role)
    views = list(_open(snapshot, caller, stage))
    page = html_page if format is Page.HTML else markdown_page
    print(page(f"{', '.join(role)} of {tenant}", [(view, shown_result(view)) for view in views]), end="")
    if not views:
        print("no tool is open to this caller", file=sys.stderr)
        raise typer.Exit(1)


def _written(view: View, form: Form) -> str:
    if form is Form.JSON:
        return json.dumps(view.schema, indent=2, ensure_ascii=False, default=dict)
    if form is Form.TYPESCRIPT:
        return render_typescript(view.spec.name, view.schema).rstrip()
    if form is Form.ZOD:
        return render_zod(view.spec.name, view.schema).rstrip()
    rendering = render_view(view, cast("Format", form.value))
    for loss in rendering.losses:
        print(f"lost: {loss.path or '/'} {loss.keyword}: {loss.reason}", file=sys.stderr)
    return json.dumps(rendering.plain(), indent=2, ensure_ascii=False)


def _caller(
    snapshot: Snapshot, roles: list[str], tenant: str, subject: str, claims: list[str] | None, acting: list[str] | None
) -> Caller:
    names = snapshot.policies.names
    for role in roles:
        if role not in names.roles:
            raise Misuse(f"there is no role {role}", f"one of {', '.join(sorted(names.roles))}")
    if names.tenants and tenant not in names.tenants:
        raise Misuse(f"there is no tenant {tenant}", f"one of {', '.join(sorted(names.tenants))}")
    for role in acting or ():
        if role not in names.actors:
            raise Misuse(f"there is no actor role {role}", f"one of {', '.join(sorted(names.actors))}")
    actor = Actor("anyone", frozenset(acting)) if acting else None
    return Caller(subject, tenant, frozenset(roles), actor, dict(map(_claim, claims or ())))


def _claim(text: str) -> tuple[str, Json]:
    name, found, value = text.partition("=")
    if not found:
        raise Misuse(f"{text} is no claim", "write name=value")
    try:
        return name, cast("Json", json.loads(value))
    except ValueError:
        return name, value


def _open(snapshot: Snapshot, caller: Caller, stage: str | None) -> Iterator[View]:
    for name in sorted(snapshot.policies.catalog):
        view = _admitted(snapshot, caller, name, stage)
        if view is not None:
            yield view


def _admitted(snapshot: Snapshot, caller: Caller, tool: str, stage: str | None) -> View | None:
    given: dict[str, Json] = {} if stage is None else {"stage": stage}
    context = context_at(snapshot.policies.names.calendars, dt.datetime.now(dt.UTC), (), given)
    return admit(snapshot, caller, tool, context)
