"""
Which policies count now, and whose tokens are believed under them? The one pair that every call starts from.

In comes a folder, or texts with the registered tools as their catalog; out come the newest snapshot and its verifier,
swapped together. What does not load changes nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Final, NamedTuple

from gatewright.middleware.identify import VerifiedTokens
from gatewright.middleware.registration import Tool
from gatewright.middleware.token import build_verifier
from gatewright.policy.cases import check_probes
from gatewright.policy.errors import Finding, Misuse, Place, PolicyInvalid
from gatewright.policy.folder import DEFERRED, load_policies
from gatewright.policy.policyset import PolicySet
from gatewright.policy.revisions import Kept, Revisions
from gatewright.policy.snapshot import Snapshot, compile_snapshot
from gatewright.policy.source import Source, read_folder
from gatewright.policy.store import Health, Listener, Store

__all__ = ["LivePolicies", "Pair", "cataloguing", "is_cataloguing", "quarantined"]

SETTLE_S: Final = 0.15
"""Seconds that a changed folder must look the same before it is loaded."""

_CATALOG: Final = "catalog/"
_NO_KEYS: Final = Finding(
    Place("identity.yaml"),
    "keys_missing",
    "production needs keys that outlive the process",
    "Guard(…, keys=KeyRing.from_secret(…))",
)
_cataloguing: ContextVar[bool] = ContextVar("gatewright_cataloguing", default=False)


class Pair(NamedTuple):
    """A snapshot and the verifier of the same revision."""

    snapshot: Snapshot
    tokens: VerifiedTokens


@contextmanager
def cataloguing() -> Iterator[None]:
    """While a catalog is being written: guards load policies although the catalog is not as they say."""
    variable = _cataloguing.set(True)
    try:
        yield
    finally:
        _cataloguing.reset(variable)


def is_cataloguing() -> bool:
    """Whether a catalog is being written here."""
    return _cataloguing.get()


class LivePolicies:
    """
    The policies of one guard.

    A mapping of texts without catalog files takes *tools* as its catalog, once it is first used and again whenever a
    tool was added since. *keys_last* says that the guard's own keys outlive the process; production needs that.
    *revisions* keeps what was in force, *max_age_s* is the maximum age (`BoundOptions`), told by the *clock*'s
    `monotonic` where it has one.

    Raises:
        PolicyInvalid: the policies do not load.
    """

    def __init__(
        self,
        policies: str | Path | Mapping[str, str],
        tools: Mapping[str, Tool],
        listener: Listener[Pair],
        *,
        keys_last: bool = True,
        revisions: Revisions | None = None,
        max_age_s: float | None = None,
        clock: object = time,
    ) -> None:
        self.folder: Path | None = None if isinstance(policies, Mapping) else Path(policies)
        self._texts = Source.from_texts(policies) if isinstance(policies, Mapping) else None
        self._tools = tools
        self._listener = listener
        self._keys_last = keys_last
        self._revisions = revisions or Revisions()
        self._max_age_s = max_age_s
        self._clock = clock
        self._read: Source | None = None
        self._lock = RLock()
        self._tokens: VerifiedTokens | None = None
        self._deferring = is_cataloguing()
        self._own_catalog = self._texts is not None and not any(True for _ in self._texts.under("catalog", ".json"))
        self._store: Store[Pair] | None = None
        self.is_stale: bool = self._own_catalog
        if self._own_catalog:
            self._pair(load_policies(self._source(), DEFERRED, any_age=self._deferring))
        else:
            self._open()

    @property
    def current(self) -> Pair:
        """The newest pair; one reference, so that a call sees a snapshot and its own verifier."""
        store = self._store
        return self._opened().current if store is None else store.current

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot."""
        store = self._store
        return (self._opened() if store is None else store).current.snapshot

    @property
    def health(self) -> Health:
        """How the policies are."""
        return self._opened().health

    @property
    def is_outdated(self) -> bool:
        """Whether the policies are older than their maximum age."""
        return self._max_age_s is not None and self._opened().is_outdated

    @property
    def kept(self) -> list[Kept]:
        """The revisions that can be gone back to, the newest first."""
        return self._revisions.kept()

    def complete(self) -> None:
        """
        Take the tools that were added since as the catalog of policies that have no other.

        Raises:
            PolicyInvalid: the policies do not fit them.
        """
        with self._lock:
            if self.is_stale:
                self._open()
                self.is_stale = False

    def note_tool(self) -> None:
        """Note that a tool was added."""
        self.is_stale = self._own_catalog

    def reload(self) -> bool:
        """Load again; return whether it loaded. The last good policies stay where it did not."""
        return self._opened().reload() is not None

    def go_back(self, revision: str) -> bool:
        """
        Put an earlier *revision* into force until the folder changes; return whether it loaded.

        Raises:
            Misuse: it is not kept.
        """
        source = self._revisions.source_of(revision)
        return self._opened().hold(lambda: self._built(source)) is not None

    def watch(self) -> None:
        """Look for changes of the folder from now on."""
        if self._store is not None and self.folder is not None:
            self._store.start()

    def close(self) -> None:
        """Stop looking for changes."""
        if self._store is not None:
            self._store.stop()

    def _open(self) -> None:
        self._store = Store(
            self._build,
            None if self.folder is None else self._look,
            listener=self._listener,
            revision_of=_revision_of,
            hints=self.folder,
            settle_s=SETTLE_S,
            max_age_s=self._max_age_s,
            now=getattr(self._clock, "monotonic", time.monotonic),
        )

    def _look(self) -> str:
        """Read the folder; what is built right afterwards is built of these very bytes."""
        self._read = None
        self._read = self._source()
        return self._read.fingerprint()

    def _opened(self) -> Store[Pair]:
        if self._store is None:
            self.complete()
        if self._store is None:
            raise Misuse("the policies are not loaded", "make the guard first")
        return self._store

    def _source(self) -> Source:
        if self._texts is not None:
            return self._texts
        source = read_folder(self.folder or ".")
        if not self._deferring:
            return source
        return Source({path: text for path, text in source.files.items() if not path.startswith(_CATALOG)})

    def _build(self) -> Pair:
        source, self._read = self._read or self._source(), None
        return self._built(source)

    def _built(self, source: Source) -> Pair:
        if self._own_catalog:
            return self._probed(self._pair(self._with_own_catalog(source)))
        has_catalog = any(True for _ in source.under("catalog", ".json"))
        catalog = None if has_catalog and not self._deferring else DEFERRED
        pair = self._pair(load_policies(source, catalog, any_age=self._deferring), source)
        if not self._deferring:
            pair = self._probed(pair)
            if self.folder is not None:
                self._revisions.keep(source, time.time())
        return pair

    def _probed(self, pair: Pair) -> Pair:
        """
        Return *pair* once every test marked `probe` has held, with what could not be asked among its warnings.

        Raises:
            PolicyInvalid: one does not hold.
        """
        found = check_probes(pair.snapshot, {name: tool.supply for name, tool in tuple(self._tools.items())})
        if any(finding.severity == "error" for finding in found):
            raise PolicyInvalid(found)
        if not found:
            return pair
        policies = pair.snapshot.policies
        warned = replace(policies, warnings=tuple(sorted((*policies.warnings, *found))))
        return Pair(Snapshot(warned, pair.snapshot.engine), pair.tokens)

    def _with_own_catalog(self, source: Source) -> PolicySet:
        specs = {name: tool.spec for name, tool in tuple(self._tools.items())}
        policies = load_policies(source, specs)
        digests = "".join(f"{name}:{spec.digest}\n" for name, spec in sorted(specs.items()))
        revision = hashlib.sha256(f"{policies.revision}\n{digests}".encode()).hexdigest()
        return replace(policies, revision=revision)

    def _pair(self, policies: PolicySet, source: Source | None = None) -> Pair:
        if self._deferring:  # no call is made, so nobody is believed, and keys need not be there
            policies = replace(policies, profiles={})
        if policies.profiles.get("production") is True and not self._keys_last:
            raise PolicyInvalid([_NO_KEYS])
        files = (source or self._source()).files
        before = None if self._tokens is None else self._tokens.verifier
        verifier = build_verifier(policies.profiles, policies.names, files.__getitem__, previous=before)
        if self._tokens is None or verifier is not before:
            self._tokens = VerifiedTokens(verifier)
        return Pair(compile_snapshot(policies), self._tokens)


def _revision_of(pair: Pair) -> str:
    return pair.snapshot.revision


def quarantined(snapshot: Snapshot, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """Return the registered tools that are hidden from everyone: they differ from their catalog file, or have none."""
    catalog = snapshot.policies.catalog
    return tuple(
        name for name, tool in tuple(tools.items()) if name not in catalog or catalog[name].digest != tool.spec.digest
    )
