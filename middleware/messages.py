"""
How does a result reach a model? As the tool message of one provider, the full JSON always in its text.

In come a result's JSON, its text and constant notes; out comes the message as plain data. Decides nothing and adds no
name or id but those of the call it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gatewright.policy.errors import Misuse
from gatewright.policy.model import Json

__all__ = ["PROVIDERS", "Answer", "Provider", "provider_message"]

Provider: TypeAlias = Literal["plain", "openai", "openai-responses", "anthropic", "gemini", "mcp"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a message carries: the result as an object and as text, and sentences that stand beside it."""

    body: Mapping[str, Json]
    text: str
    notes: tuple[str, ...]
    is_error: bool
    call_id: str
    name: str | None

    @property
    def whole(self) -> str:
        """Text and notes as one string, the JSON on its first line."""
        return "\n".join((self.text, *self.notes))

    @property
    def blocks(self) -> list[Json]:
        """Text and notes as one text block each, the JSON alone in the first."""
        return [{"type": "text", "text": text} for text in (self.text, *self.notes)]


def provider_message(provider: Provider, answer: Answer) -> dict[str, Json]:
    """
    Return the tool message of *provider*.

    Raises:
        Misuse: there is no such provider.
    """
    try:
        shape = _SHAPES[provider]
    except KeyError:
        shape = None
    if shape is None:
        raise Misuse(f"no such provider: {provider}", f"one of {', '.join(_SHAPES)}")
    return shape(answer)


def _plain(answer: Answer) -> dict[str, Json]:
    return {"call_id": answer.call_id, "content": answer.whole, "is_error": answer.is_error}


def _openai(answer: Answer) -> dict[str, Json]:
    return {"role": "tool", "tool_call_id": answer.call_id, "content": answer.whole}


def _openai_responses(answer: Answer) -> dict[str, Json]:
    return {"type": "function_call_output", "call_id": answer.call_id, "output": answer.whole}


def _anthropic(answer: Answer) -> dict[str, Json]:
    message: dict[str, Json] = {"type": "tool_result", "tool_use_id": answer.call_id, "content": answer.blocks}
    return {**message, "is_error": True} if answer.is_error else message


def _gemini(answer: Answer) -> dict[str, Json]:
    """Gemini reserves `output` and `error` inside a response; a function response needs the function's name."""
    response: dict[str, Json] = {"error" if answer.is_error else "output": answer.body}
    if answer.notes:
        response["note"] = " ".join(answer.notes)
    inner: dict[str, Json] = {"id": answer.call_id, "name": answer.name or "", "response": response}
    return {"functionResponse": inner}


def _mcp(answer: Answer) -> dict[str, Json]:
    """A `CallToolResult`; structured content belongs to whoever knows whether the tool has an output schema."""
    return {"content": answer.blocks, "isError": answer.is_error}


_SHAPES: Final[Mapping[str, Callable[[Answer], dict[str, Json]]]] = {
    "plain": _plain,
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
}

PROVIDERS: Final = tuple(_SHAPES)
