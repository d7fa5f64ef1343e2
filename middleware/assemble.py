"""
What does a guard stand on? Its keys, stores and policies, opened and put together with the steps of its chain.

In comes what an application said; out come what all its calls share and what is to be closed in the end.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gatewright.middleware.anchor import Anchor, open_anchor
from gatewright.middleware.bounds import BoundOptions, Bounds
from gatewright.middleware.call import Clock
from gatewright.middleware.chain import Chain
from gatewright.middleware.checkpoint import Checkpoints
from gatewright.middleware.credential import TokenSource
from gatewright.middleware.interaction import Interactions
from gatewright.middleware.journal import Journal, JsonLinesJournal, StoreJournal
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.live import LivePolicies, is_cataloguing
from gatewright.middleware.places import open_keys, open_revisions, open_stores
from gatewright.middleware.registration import Tool
from gatewright.middleware.runtime import Runtime
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.watch import PolicyWatch
from gatewright.middleware.webhook import Webhook

__all__ = ["Assembly", "assemble"]


@dataclass(frozen=True, slots=True)
class Assembly:
    """One guard's parts. *watch* hears of policies; *owned* are the stores that were opened here."""

    runtime: Runtime
    watch: PolicyWatch
    owned: tuple[Journal | Ledger, ...]
    checkpoints: Checkpoints | None

    def close(self) -> None:
        """Stop watching, write what is queued and let go of the stores that were opened here."""
        self.runtime.live.close()
        self.runtime.notices.close()
        if self.runtime.webhook is not None:
            self.runtime.webhook.close()
        for store in self.owned:
            store.close()
        if self.checkpoints is not None:
            self.checkpoints.close(closing=self.runtime.journal in self.owned)


def assemble(
    policies: str | Path | Mapping[str, str],
    tools: dict[str, Tool],
    chain: Chain,
    *,
    journal: Journal | str | Path | None,
    ledger: Ledger | str | Path | None,
    keys: KeyRing | str | bytes | None,
    clock: Clock | None,
    token: TokenSource | None,
    webhook: Webhook | None,
    anchor: Anchor | str | Path | None,
    locale: str,
    bounds: BoundOptions,
) -> Assembly:
    """
    Open what is given as a place, and put a guard's parts together.

    While a catalog is written, places are not opened: its process keeps everything in memory.

    Raises:
        PolicyInvalid: the policies do not load. StoreUnavailable: a store cannot be used.
    """
    clock = clock if clock is not None else time
    ring = open_keys(keys)
    folder = None if isinstance(policies, Mapping) or is_cataloguing() else Path(policies)
    given = (None, None) if is_cataloguing() else (journal, ledger)
    stores = open_stores(*given, folder, ring, clock.time)
    checkpoints = None if is_cataloguing() else _checkpoints(anchor, ring, clock, stores)
    watch = PolicyWatch(stores[0], clock.time, tools)
    live = LivePolicies(
        policies,
        tools,
        watch,
        keys_last=ring.is_lasting,
        revisions=open_revisions(folder, is_beside=None in given),
        max_age_s=bounds.get("max_policy_age"),
        clock=clock,
    )
    interactions = Interactions(time.monotonic)
    runtime = Runtime(clock, ring, live, *stores, interactions, chain, tools, locale, Bounds(**bounds), token, webhook)
    owned = tuple(store for store, place in zip(stores, given, strict=True) if store is not place)
    return Assembly(runtime, watch, owned, checkpoints)


def _checkpoints(
    anchor: Anchor | str | Path | None, keys: KeyRing, clock: Clock, stores: tuple[Journal, Ledger]
) -> Checkpoints | None:
    """Let the chains of *stores* be signed and brought to *anchor*, where there is one."""
    if anchor is None:
        return None
    checkpoints = Checkpoints(keys, open_anchor(anchor) if isinstance(anchor, str | Path) else anchor, clock.time)
    journal, ledger = stores
    ledger.store.listen(checkpoints.heed)
    if isinstance(journal, StoreJournal | JsonLinesJournal):
        journal.listen(checkpoints.heed)
    return checkpoints
