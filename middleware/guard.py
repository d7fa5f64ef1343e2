"""
The gate itself: policies on one side, functions on the other. What an application holds.

In come a policies folder and functions with what their developers state; calls go through the chain and come back as
results. Everything that decides is elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, Unpack

from gatewright.middleware.accept import accept, catalog_files
from gatewright.middleware.afterwards import Afterwards
from gatewright.middleware.anchor import Anchor
from gatewright.middleware.assemble import assemble
from gatewright.middleware.bounds import BoundOptions
from gatewright.middleware.call import Arguments, Clock
from gatewright.middleware.chain import Chain, OwnStep
from gatewright.middleware.check import check
from gatewright.middleware.controls import PolicyControls
from gatewright.middleware.credential import UNSAID, TokenSource, Unsaid
from gatewright.middleware.decorate import decorate
from gatewright.middleware.interaction import Interaction
from gatewright.middleware.introduce import introduce, introduce_async
from gatewright.middleware.journal import Journal
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.listing import list_tools
from gatewright.middleware.live import is_cataloguing, quarantined
from gatewright.middleware.options import BatchOptions, CallOptions, ToolCall
from gatewright.middleware.perform import opened, perform, perform_async
from gatewright.middleware.registration import Check, Fact, Resource, Rule, SchemaSource, Statement, register
from gatewright.middleware.registry import Registry
from gatewright.middleware.repairs import InvalidArguments
from gatewright.middleware.results import Forbidden, Ok, Result
from gatewright.middleware.runtime import declared_context, last_call_id
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.session import OpenCall, Session
from gatewright.middleware.steps import BUILT_IN
from gatewright.middleware.unresolved import Reconcile
from gatewright.middleware.webhook import Webhook
from gatewright.policy.caller import Caller
from gatewright.policy.model import Schema
from gatewright.policy.rendering import Format

__all__ = ["Guard"]

P = ParamSpec("P")
R = TypeVar("R")


class Guard(PolicyControls, Afterwards):
    """
    Guards functions by policies.

    *policies* is a folder, or texts by path for tests; such texts take the registered tools as their catalog.
    *journal* and *ledger* are where events and operations go: open ones, or places; beside the folder by default.
    *keys* are a `KeyRing` or its secret. *token* says whose calls are that name no token, in a server of one caller:
    a `TokenFile`, a `TokenVariable` or a function of yours. *webhook* tells people what waits for them.
    *anchor* is where signed checkpoints of the events go: a file, `stdout`, an https URL or an `Anchor`.
    *after_validate* and *after_authorize* are steps of your own; they can only stop a call. *watch* looks for changes
    of the folder. *bounds* are keywords of their own, see `BoundOptions`.

    Raises:
        PolicyInvalid: the policies do not load; every finding has file, line and column.
    """

    def __init__(
        self,
        policies: str | Path | Mapping[str, str] = "policies",
        *,
        journal: Journal | str | Path | None = None,
        ledger: Ledger | str | Path | None = None,
        keys: KeyRing | str | bytes | None = None,
        clock: Clock | None = None,
        token: TokenSource | None = None,
        webhook: Webhook | None = None,
        anchor: Anchor | str | Path | None = None,
        locale: str = "en",
        after_validate: Sequence[OwnStep] = (),
        after_authorize: Sequence[OwnStep] = (),
        watch: bool = True,
        **bounds: Unpack[BoundOptions],
    ) -> None:
        chain = BUILT_IN.with_steps("authorize", after_authorize).with_steps("validate", after_validate)
        self._registry = Registry()
        self._assembly = assemble(
            policies,
            self._registry.tools,
            chain,
            journal=journal,
            ledger=ledger,
            keys=keys,
            clock=clock,
            token=token,
            webhook=webhook,
            anchor=anchor,
            locale=locale,
            bounds=bounds,
        )
        self._runtime = self._assembly.runtime
        self._watch = self._assembly.watch
        if watch:
            self._runtime.live.watch()

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Guard({len(self._registry.tools)} tools)"

    def close(self) -> None:
        """Stop watching, write what is queued and let go of the stores that this guard opened."""
        self._assembly.close()

    @property
    def chain(self) -> Chain:
        """The steps that a call walks; `print(guard.chain)` tells them."""
        return self._runtime.chain

    @property
    def last_call_id(self) -> str | None:
        """The runtime's id of the last call made in this thread or task; it stands beside a result, never in it."""
        return last_call_id()

    def tool(
        self,
        name: str,
        *,
        kind: Literal["read", "write"],
        use_when: str,
        not_for: str,
        description: str | None = None,
        action: str | None = None,
        facts: Mapping[str, Fact | Callable[[dict[str, Any]], Any]] | None = None,
        rules: Sequence[Rule] = (),
        resources: Mapping[str, Resource] | None = None,
        checks: Sequence[Check] = (),
        reasons: Collection[str] = (),
        context: Mapping[str, Schema] | None = None,
        schema: SchemaSource = None,
        result: SchemaSource = None,
        timeout: float | None = None,
        cursor: str | None = None,
        reconcile: Reconcile | None = None,
        idempotent: bool = False,
        injected: Collection[str] = (),
        echo: Collection[str] = (),
        secret: Collection[str] = (),
        loggable: Collection[str] = (),
        big_integers: bool = False,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """
        Guard a function as the tool *name*: the innermost decorator, right above `def`.

        *description* defaults to the docstring; *use_when* and *not_for* tell a model when to call it and when not.
        *action* is what a call does to the resources it names, *kind* unless given. *rules* are pure functions
        (arguments, settings) → arguments. *checks* get (arguments, resources), may do I/O, and raise `Conflict`,
        `NotFound` or `Failed`. *reasons* are the codes that rules and failures may state. *schema* and *result* are
        JSON Schemas or files of them, in the place of what the annotations say. *timeout* is in seconds. *cursor* is
        the argument that takes a page's next_cursor, `/cursor` unless given. *reconcile* finds out whether a write
        happened whose outcome is unknown (`Happened`, `DidNotHappen`, `CannotTell`); *idempotent* says that the backend
        does the same write once, however often it is asked under `current_operation().key`. *injected* names
        parameters that a framework passes. *echo*, *secret* and *loggable* mark arguments.

        Raises:
            Misuse: at once, for anything that could never work.
        """
        stated = Statement(
            name=name,
            kind=kind,
            use_when=use_when,
            not_for=not_for,
            description=description,
            action=action,
            facts=facts or {},
            rules=rules,
            resources=resources or {},
            checks=checks,
            reasons=reasons,
            context=context or {},
            schema=schema,
            result=result,
            timeout=timeout,
            cursor=cursor,
            reconcile=reconcile,
            idempotent=idempotent,
            injected=injected,
            echo=echo,
            secret=secret,
            loggable=loggable,
            big_integers=big_integers,
        )

        def guard_function(function: Callable[P, R]) -> Callable[P, R]:
            tool = register(function, stated, sys._getframe(1).f_locals)
            self._registry.add(tool)
            live = self._runtime.live
            live.note_tool()
            if not (live.is_stale or is_cataloguing()) and quarantined(live.snapshot, {tool.name: tool}):
                self._watch.tell_quarantined(tool)
            return decorate(tool, self._runtime)

        return guard_function

    def call(self, name: str, arguments: Arguments, **options: Unpack[CallOptions]) -> Result:
        """
        Call a tool as a model asked for it; *arguments* are the text that it wrote, or a mapping.

        Nothing that a caller sends raises.
        """
        return perform(self._runtime.open_call(name, arguments, **options))

    async def acall(self, name: str, arguments: Arguments, **options: Unpack[CallOptions]) -> Result:
        """Call a tool from a task, as `call` does from a thread."""
        return await perform_async(self._runtime.open_call(name, arguments, **options))

    def call_many(self, calls: Iterable[ToolCall | tuple[Any, ...]], **options: Unpack[BatchOptions]) -> list[Result]:
        """Make *calls* one after the other; return one result each, in their order, whatever their ids are."""
        return [perform(call) for call in self._runtime.open_calls(calls, options)]

    async def acall_many(
        self, calls: Iterable[ToolCall | tuple[Any, ...]], **options: Unpack[BatchOptions]
    ) -> list[Result]:
        """Make *calls* from a task, as `call_many` does from a thread."""
        return [await perform_async(call) for call in self._runtime.open_calls(calls, options)]

    @contextmanager
    def opened(self, name: str, arguments: Arguments, **options: Unpack[CallOptions]) -> Iterator[OpenCall]:
        """
        Open a call for the guarded function to continue once, inside the block: what adapters of frameworks do.

        Where it is stopped, its `result` is there at once, and the function must not be called.
        """
        with opened(self._runtime.open_call(name, arguments, **options)) as left:
            yield left

    def session(
        self,
        token: str | TokenSource | None,
        *,
        context: Mapping[str, object] | None = None,
        interaction: Interaction | str | None = None,
    ) -> Session:
        """Return a session, in which guarded functions may be called directly; a source is asked for each call."""
        return Session(self._runtime, token, declared_context(context or {}), interaction)

    def identify(self, token: str | Unsaid | None = UNSAID) -> Caller:
        """
        Return who calls with *token*: what a server asks at its door. Allows nothing.

        Raises:
            CallUnauthenticated: nobody is calling; that is an event of its own.
        """
        return introduce(self._runtime.open_call("", "", token=token))

    async def aidentify(self, token: str | Unsaid | None = UNSAID) -> Caller:
        """Return who calls with *token* from a task, as `identify` does from a thread."""
        return await introduce_async(self._runtime.open_call("", "", token=token))

    def interaction(self, id: str, *, task: str | None = None) -> Interaction:
        """Return a conversation or task of a model, to be given to each of its calls."""
        return Interaction(id, task)

    def tools(
        self,
        token: str | Unsaid | None = UNSAID,
        *,
        format: Format = "plain",
        context: Mapping[str, object] | None = None,
        interaction: Interaction | str | None = None,
    ) -> list[dict[str, Any]]:
        """
        Return the tools that the caller may use, each with the caller's own schema, as *format* shows them.

        Raises:
            CallUnauthenticated: nobody is calling.
        """
        call = self._runtime.open_call("", "", token=token, context=context, interaction=interaction)
        return list_tools(call, format)

    def catalog(self) -> dict[str, str]:
        """Return the catalog file of each registered tool, by its path in a policies folder."""
        return catalog_files(self._registry.tools)

    def accept_catalog(self) -> tuple[str, ...]:
        """
        Accept the registered tools as they are: write their catalog files into the folder; return what changed.

        Raises:
            Misuse: the policies are not in a folder.
        """
        changes = accept(self.folder, self.catalog())
        if changes:
            self._runtime.live.reload()
        return changes

    @staticmethod
    def check(
        schema_or_tool: Schema | Callable[..., Any],
        arguments: Arguments,
        *,
        rules: Sequence[Rule] = (),
        settings: Mapping[str, Any] | None = None,
        locale: str = "en",
    ) -> Ok | InvalidArguments | Forbidden:
        """
        Judge JSON by a schema and rules, or by those of a guarded function; what passes comes back with defaults.

        Authorizes and runs nothing: for structured output, metadata filters and batches.

        Raises:
            Misuse: the schema is outside the dialect, or the function is not guarded.
        """
        return check(schema_or_tool, arguments, rules=rules, settings=settings, locale=locale)
