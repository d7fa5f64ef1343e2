"""
How is a leak put into the product, and taken out again? A text of one module changed, its functions given the code.

Nothing is imported anew and no object is replaced: a running guard leaks from here on, and is whole again afterwards.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any

from noninterference.leaks import Leak


@contextmanager
def leaking(leak: Leak) -> Iterator[None]:
    """Let the product have *leak* meanwhile; raises where the text that it changes is not there exactly once."""
    module = importlib.import_module(leak.module)
    source = inspect.getsource(module)
    if source.count(leak.old) != 1:
        raise LookupError(f"{leak.name}: its text stands {source.count(leak.old)} times in {leak.module}")
    codes = _codes(compile(source.replace(leak.old, leak.new), module.__file__ or "", "exec", dont_inherit=True))
    before: list[tuple[FunctionType, CodeType]] = []
    for function in _functions(module):
        code = codes.get(function.__code__.co_qualname)
        if code is not None and not _is_same(code, function.__code__):
            before.append((function, function.__code__))
            function.__code__ = code
    try:
        if not before:
            raise LookupError(f"{leak.name}: no function of {leak.module} is changed by it")
        yield
    finally:
        for function, code in before:
            function.__code__ = code


def _codes(code: CodeType) -> dict[str, CodeType]:
    """Every code object in *code*, by its qualified name."""
    found: dict[str, CodeType] = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found[constant.co_qualname] = constant
            found |= _codes(constant)
    return found


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """The functions and methods that are written in *module*."""
    for value in vars(module).values():
        members = vars(value).values() if isinstance(value, type) else (value,)
        for each in members:
            function = _plain(each)
            if function is not None and function.__module__ == module.__name__:
                yield function


def _plain(value: Any) -> FunctionType | None:
    """The function behind a property, a class method or a wrapper."""
    for name in ("func", "fget", "__func__", "__wrapped__"):
        value = getattr(value, name, value)
    return value if isinstance(value, FunctionType) else None


def _is_same(one: CodeType, other: CodeType) -> bool:
    """Whether two codes do the same; where their lines stand does not count."""
    if one.co_code != other.co_code or one.co_names != other.co_names or one.co_varnames != other.co_varnames:
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    pairs = zip(one.co_consts, other.co_consts, strict=True)
    return all(
        _is_same(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType) else repr(a) == repr(b) for a, b in pairs
    )
