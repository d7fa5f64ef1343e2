"""Folders in production, for tests: EFFECTIVE.txt as the generator writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gatewright.policy.effective import EFFECTIVE_FILE, effective_text
from gatewright.policy.folder import Deferred, load_policies
from gatewright.policy.model import ToolSpec
from gatewright.policy.source import Source, read_folder


def write_effective(folder: Path, catalog: Deferred | None = None) -> None:
    """Write the EFFECTIVE.txt of *folder*; *catalog* as `load_policies` takes it."""
    (folder / EFFECTIVE_FILE).write_text(effective_text(load_policies(read_folder(folder), catalog, any_age=True)))


def in_production(texts: Mapping[str, str], catalog: Mapping[str, ToolSpec] | Deferred | None = None) -> dict[str, str]:
    """*texts* as a folder in production: identity.yaml says so, and EFFECTIVE.txt is theirs."""
    said = {**texts, "identity.yaml": f"production: true\n{texts['identity.yaml']}"}
    policies = load_policies(Source.from_texts(said), catalog, any_age=True)
    return {**said, EFFECTIVE_FILE: effective_text(policies)}
