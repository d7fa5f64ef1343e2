"""
The contract of the log-query tool alone, without a backend: what it accepts, and what it says otherwise.

Run it with `.venv/bin/python examples/query_contract.py`. Nothing is authorized or executed here: `Guard.check` is the
decode and validate half of the chain, for structured output, metadata filters and batches.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "log_query"))

from app import times

from gatewright import Guard

SCHEMA = {
    "type": "object",
    "properties": {
        "service": {"type": "string", "minLength": 1},
        "start": {"type": "string"},
        "end": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 200},
    },
    "required": ["service", "start", "end", "limit"],
    "additionalProperties": False,
}
TRIES = (
    '{"service":"inventory","start":"2026-11-30T10:00:00Z","end":"2026-11-30T11:00:00Z","limit":20}',
    '{"service":"inventory","start":"2026-11-30T10:00:00Z","end":"2026-11-30T11:00:00Z"}',
    '{"service":"inventory","start":"2026-11-30T10:00:00Z","end":"2026-11-30T11:00:00Z","limit":true}',
    '{"service":"inventory","start":"2026-11-30T10:00:00Z","end":"2026-11-30T11:00:00Z","limit":20.0}',
    '{"service":"","start":"2026-11-30T10:00:00Z","end":"2026-11-30T11:00:00Z","limit":20}',
    '{"service":"inventory","service":"payments","start":"…","end":"…","limit":20}',
    '{"service":"inventory","start":"2026-11-30T11:00:00Z","end":"2026-11-30T10:00:00Z","limit":20}',
    '{"service":"inventory","start":"2026-02-30T10:00:00Z","end":"2026-11-30T10:00:00Z","limit":20}',
    '{"service":"inventory","start":"2026-11-30T10:00:00Z","end":"2026-11-30T11:00:01Z","limit":20}',
)


def main() -> None:
    """Check every try and print what a model would be told."""
    for text in TRIES:
        result = Guard.check(SCHEMA, text, rules=[times], settings={"max_span_s": 3600})
        answer = result.to_json()
        told = "; ".join(error["message"] for error in answer.get("errors", []))
        print(f"{text}\n  → {answer['status']}{': ' + told if told else ''}\n")


if __name__ == "__main__":
    main()
