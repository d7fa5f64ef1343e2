"""
What does a guarded function look like? The same kind of function, with the same signature, that asks first.

In comes a registered tool; out comes a real function. Called directly it continues the call that an adapter opened, or
walks the whole chain for the session it is in; outside of both it is refused and its body is not entered.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, get_args, get_origin
from weakref import WeakKeyDictionary

import pydantic_core
from pydantic import TypeAdapter

from gatewright.middleware.call import Call
from gatewright.middleware.failures import stop
from gatewright.middleware.page import Stamped
from gatewright.middleware.perform import finish, finish_async, perform, perform_async
from gatewright.middleware.registration import Tool
from gatewright.middleware.results import Ok, OkPage, Result
from gatewright.middleware.runtime import Runtime
from gatewright.middleware.session import current_session, take_open_call
from gatewright.policy.errors import Misuse

__all__ = ["decorate", "tool_of"]

_JSON = (str, int, float, bool, type(None), dict, list)
_tools: WeakKeyDictionary[Callable[..., Any], tuple[Tool, Runtime]] = WeakKeyDictionary()


def decorate(tool: Tool, runtime: Runtime) -> Callable[..., Any]:
    """Return the guarded function of *tool*."""
    make = {"sync": _sync, "async": _async, "stream": _stream}[tool.flavour]
    guarded = functools.wraps(tool.function)(make(tool, runtime))
    del guarded.__wrapped__
    signature = tool.signature.python
    guarded.__signature__ = signature  # type: ignore[attr-defined]
    guarded.__annotations__ = {
        **{each.name: each.annotation for each in signature.parameters.values() if each.annotation is not each.empty},
        **({} if signature.return_annotation is inspect.Signature.empty else {"return": signature.return_annotation}),
    }
    _tools[guarded] = (tool, runtime)
    return guarded


def tool_of(guarded: Any) -> tuple[Tool, Runtime]:
    """
    Return what is behind a guarded function.

    Raises:
        Misuse: it is none.
    """
    try:
        return _tools[guarded]
    except (KeyError, TypeError):
        raise Misuse("this is no guarded function", "give the function that @guard.tool returned") from None


def _sync(tool: Tool, runtime: Runtime) -> Callable[..., Any]:
    def guarded(*args: Any, **kwargs: Any) -> Any:
        left = take_open_call(tool)
        if left is not None:
            left.result = finish(left.call)
            return _value(left.call, left.result)
        call = _opened(tool, runtime, args, kwargs)
        return _value(call, perform(call))

    return guarded


def _async(tool: Tool, runtime: Runtime) -> Callable[..., Any]:
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        return await _answered(tool, runtime, args, kwargs)

    return guarded


def _stream(tool: Tool, runtime: Runtime) -> Callable[..., Any]:
    async def guarded(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for item in await _answered(tool, runtime, args, kwargs):
            yield item

    return guarded


async def _answered(tool: Tool, runtime: Runtime, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    left = take_open_call(tool)
    if left is not None:
        left.result = await finish_async(left.call)
        return _value(left.call, left.result)
    call = _opened(tool, runtime, args, kwargs)
    return _value(call, await perform_async(call))


def _opened(tool: Tool, runtime: Runtime, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    session = current_session(runtime)
    arguments, injected = _arguments(tool, args, kwargs)
    if session is None:
        call = runtime.open_call(tool.name, arguments, token=None, adapter="direct")
    else:
        call = runtime.open_call(
            tool.name,
            arguments,
            token=session.token,
            context=session.context,
            interaction=session.interaction,
            parent=session.parent,
            adapter="session",
        )
    call.injected = injected
    return call


def _arguments(tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON arguments of a direct call by their JSON names, and what a framework passes beside them."""
    parameters = tool.signature.parameters
    if len(args) > len(parameters):
        raise TypeError(f"{tool.function.__qualname__}() takes {len(parameters)} positional arguments")
    given = {each.name: value for each, value in zip(parameters, args, strict=False)}
    if repeated := given.keys() & kwargs.keys():
        raise TypeError(f"{tool.function.__qualname__}() got multiple values for argument {min(repeated)!r}")
    given.update(kwargs)
    known = {each.name: each for each in parameters}
    arguments: dict[str, Any] = {}
    injected: dict[str, Any] = {}
    for name, value in given.items():
        each = known.get(name)
        if each is not None and each.source == "injected":
            injected[name] = value
        elif each is None or each.source not in ("caller", "scope"):
            arguments[name] = _json(value)
    return arguments, injected


def _json(value: Any) -> Any:
    """Return *value* as JSON where it is a Python value that has a JSON form; what has none, decode refuses."""
    if type(value) in _JSON:
        return value
    try:
        return pydantic_core.to_jsonable_python(value)
    except Exception:  # noqa: BLE001 - its own serializer may raise anything; decode will refuse it
        return value


def _value(call: Call, result: Result) -> Any:
    """Return the plain value of a direct call, or raise its `Stopped`."""
    if not isinstance(result, Ok | OkPage):
        stop(result, call.id).throw()
    if call.stored is None and not call.altered:
        return call.value
    returns = call.tool.signature.returns
    if isinstance(result, Ok) and get_origin(returns) is Stamped:
        data = _typed(get_args(returns)[0], result.data)
        return Stamped(data, as_of=result.as_of, version=result.version, ref=result.ref)
    return _typed(returns, result.data if isinstance(result, Ok) else _page(result))


def _page(result: OkPage) -> dict[str, Any]:
    told = result.to_json()
    return {name: value for name, value in told.items() if name not in ("status", "filtered", "schema_changed")}


def _typed(annotation: Any, plain: Any) -> Any:
    """Return *plain* as the function's return type says where what is left fits it, else as JSON."""
    if annotation is inspect.Signature.empty or inspect.isasyncgenfunction(annotation):
        return plain
    try:
        return TypeAdapter(annotation).validate_python(plain)
    except Exception:  # noqa: BLE001 - what was cut off may be what the type needs; its JSON is right anyway
        return plain
