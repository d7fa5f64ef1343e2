"""
What may be said about a call beside its tool and its arguments? The keywords that every way of calling shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypedDict

from gatewright.middleware.call import Arguments
from gatewright.middleware.interaction import Interaction
from gatewright.policy.rendering import Format

__all__ = ["BatchOptions", "CallOptions", "ToolCall"]


class BatchOptions(TypedDict, total=False):
    """
    Of several calls at once.

    *token* is the caller's, None for nobody; left out, it is that of the session this is in, or else what the guard's
    own source says. *interaction* is the conversation or task of the model, *context* what the application declares
    about the call, *locale* the language of messages to the model. *format* is how the model was shown its tools, where
    `Guard.tools` was not told the interaction: under `openai-strict` a null may mean that an optional argument is left
    out.
    """

    token: str | None
    interaction: Interaction | str | None
    context: Mapping[str, object] | None
    locale: str | None
    format: Format | None


class CallOptions(BatchOptions, total=False):
    """
    Of one call.

    *call_id* is the model's own id, kept for the record alone. *operation* names the logical write, so that it is done
    at most once.
    """

    call_id: str | None
    operation: str | None


class ToolCall(NamedTuple):
    """One call of several: the tool's name, its arguments, and what else belongs to it alone."""

    name: str
    arguments: Arguments
    call_id: str | None = None
    operation: str | None = None
