"""
Which key may have signed this token? Key sets (RFC 7517) from the policies folder or from an https URL.

In come key sets as bytes, a key id and an algorithm; out comes one key, or none. Never takes a key from a token,
never lets a token choose a key's algorithm, and asks a URL only as often as its cooldown allows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Protocol, TypeAlias

from gatewright.middleware.decode import Malformed, decode
from gatewright.policy.algorithms import ALGORITHMS
from gatewright.policy.model import Json, JsonObject

__all__ = ["Fetch", "ImportKey", "Key", "KeySource", "KeyUnfit", "KeysRead", "RemoteKeys", "StaticKeys", "read_keys"]

Fetch: TypeAlias = Callable[[str], bytes]
"""URL → body. Raises OSError or ValueError when there is none."""

ImportKey: TypeAlias = "Callable[[JsonObject, str], object]"
"""(JWK, algorithm) → a verification key, or `KeyUnfit`."""

_MOST_KEYS: Final = 100
_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth"})


class KeyUnfit(Exception):
    """A key can't be used. Holds a constant word, never the key."""


@dataclass(frozen=True, slots=True)
class Key:
    """A verification key with the one algorithm it may verify. *id* is "" where the key set gave none."""

    id: str
    algorithm: str
    material: object = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeysRead:
    """What a key set holds for a profile: *keys*, and the *faults* of those that can't be used."""

    keys: tuple[Key, ...] = ()
    faults: tuple[str, ...] = ()


class KeySource(Protocol):
    """
    Finds an issuer's keys.

    *is_remote* says that finding one may do I/O. *edition* changes whenever the keys do. *fresh_for* is for how many
    seconds nobody needs to ask again.
    """

    @property
    def is_remote(self) -> bool: ...

    @property
    def edition(self) -> bytes: ...

    @property
    def fresh_for(self) -> float: ...

    def find(self, key_id: str | None, algorithm: str) -> Key | None:
        """Return the key of that id and algorithm; without an id, the only key of that algorithm. None: no key."""
        ...


@dataclass(frozen=True, slots=True)
class StaticKeys:
    """Keys that do not change: a file's or an inline set's."""

    keys: tuple[Key, ...] = ()
    is_remote: bool = False
    edition: bytes = b""
    fresh_for: float = math.inf

    def find(self, key_id: str | None, algorithm: str) -> Key | None:
        """Return the key of that id and algorithm; without an id, the only key of that algorithm."""
        fitting = [key for key in self.keys if key.algorithm == algorithm and key_id in (None, key.id)]
        return fitting[0] if len(fitting) == 1 else None


class RemoteKeys:
    """
    Keys behind a URL, fetched when first needed, when stale, and when a token names an unknown key.

    Fetches are one at a time and at least *cooldown* seconds apart, whatever tokens ask for. A key set that was fetched
    replaces the one before it whole. While the URL does not answer, the last one goes on counting until it is
    *lifetime* seconds old; then there are no keys. Times are in seconds of *timer*, which must not run backwards.
    """

    is_remote = True

    def __init__(
        self,
        url: str,
        fetch: Fetch,
        read: Callable[[bytes], KeysRead],
        *,
        timer: Callable[[], float],
        refresh: float = 300.0,
        cooldown: float = 30.0,
        lifetime: float = 3600.0,
    ) -> None:
        self.url = url
        self._fetch = fetch
        self._read = read
        self._timer = timer
        self._refresh, self._cooldown, self._lifetime = refresh, cooldown, lifetime
        self._fetched: tuple[StaticKeys, float] | None = None
        self._asked: float | None = None
        self._lock = Lock()

    def find(self, key_id: str | None, algorithm: str) -> Key | None:
        """
        Return the key of that id and algorithm, asking the URL if need be and if it may be asked again.

        Who needs an unknown key while the URL is being asked waits for that answer; who has a key never does.
        """
        key, is_fresh = self._look(key_id, algorithm)
        if key is not None and is_fresh:
            return key
        if self._lock.acquire(blocking=key is None):
            try:
                self._ask_if_due()
            finally:
                self._lock.release()
        return self._look(key_id, algorithm)[0]

    @property
    def edition(self) -> bytes:
        """SHA-256 of the key set that was fetched last; empty before."""
        fetched = self._fetched
        return b"" if fetched is None else fetched[0].edition

    @property
    def fresh_for(self) -> float:
        """Seconds until the URL is to be asked again; while it does not answer, until it may be."""
        now, fetched = self._timer(), self._fetched
        if fetched is None:
            return 0.0
        age = now - fetched[1]
        asked_again = self._cooldown - (now - (self._asked or 0.0))
        wait = self._refresh - age if age < self._refresh else asked_again
        return max(0.0, min(wait, self._lifetime - age))

    def _look(self, key_id: str | None, algorithm: str) -> tuple[Key | None, bool]:
        if self._fetched is None:
            return None, False
        keys, since = self._fetched
        age = self._timer() - since
        return (keys.find(key_id, algorithm) if age < self._lifetime else None), age < self._refresh

    def _ask_if_due(self) -> None:
        now = self._timer()
        if self._asked is not None and now - self._asked < self._cooldown:
            return
        self._asked = now
        try:
            body = self._fetch(self.url)
            read = self._read(body)
        except (OSError, ValueError, Malformed):
            return
        self._fetched = (StaticKeys(read.keys, edition=hashlib.sha256(body).digest()), now)


def read_keys(raw: bytes | JsonObject, algorithms: Iterable[str], import_key: ImportKey) -> KeysRead:
    """
    Read a key set for a profile that allows *algorithms*; each key is bound to exactly one of them.

    Keys for encryption and for other algorithms are passed over. Faults are: `repeated_id`, `private_key`, `ambiguous`
    (no `alg`, and several would fit), `unfit` (too short, off the curve, broken).

    Raises:
        Malformed: it is no key set at all.
    """
    listed = decode(raw).value.get("keys")
    if not isinstance(listed, list) or len(listed) > _MOST_KEYS:
        raise Malformed("malformed")
    allowed = frozenset(algorithms)
    keys: list[Key] = []
    faults: list[str] = []
    for item in listed:
        try:
            keys += _read_key(item, allowed, import_key)
        except KeyUnfit as error:
            faults.append(str(error))
    ids = [key.id for key in keys if key.id]
    repeated = {name for name in ids if ids.count(name) > 1}
    faults += ["repeated_id"] * len(repeated)
    return KeysRead(tuple(key for key in keys if key.id not in repeated), tuple(faults))


def _read_key(item: Json, allowed: frozenset[str], import_key: ImportKey) -> list[Key]:
    if not isinstance(item, Mapping):
        raise KeyUnfit("unfit")
    if item.get("use", "sig") != "sig" or not _verifies(item.get("key_ops")):
        return []
    fitting = [name for name in sorted(allowed) if _fits(item, name)]
    if not fitting:
        return []
    if not _PRIVATE.isdisjoint(item):
        raise KeyUnfit("private_key")
    if len(fitting) > 1:
        raise KeyUnfit("ambiguous")
    name = item.get("kid", "")
    if not isinstance(name, str):
        raise KeyUnfit("unfit")
    return [Key(name, fitting[0], import_key(item, fitting[0]))]


def _verifies(operations: Json) -> bool:
    return operations is None or (isinstance(operations, Sequence) and "verify" in operations)


def _fits(item: JsonObject, algorithm: str) -> bool:
    kind, curve = ALGORITHMS[algorithm]
    return item.get("alg", algorithm) == algorithm and item.get("kty") == kind and curve in (None, item.get("crv"))
