"""
Which key may have signed this token? Key sets (RFC 7517) from the policies folder or from an https URL.

In come key sets as bytes, a key id and an algorithm; out comes one key, or none. Never takes a key from a token,
never lets a token choose a key's algorithm, and asks a URL only as often as its cooldown allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Protocol, TypeAlias

from gatewright.middleware.decode import Malformed, decode
from gatewright.middleware.profiles import ALGORITHMS
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
    """Finds an issuer's keys."""

    def find(self, key_id: str | None, algorithm: str) -> Key | None:
        """Return the key of that id and algorithm; without an id, the only key of that algorithm. None: no key."""
        ...

    def may_wait(self, key_id: str | None) -> bool:
        """Answer whether finding that key may do I/O now."""
        ...


@dataclass(frozen=True, slots=True)
class StaticKeys:
    """Keys that do not change: a file's or an inline set's."""

    keys: tuple[Key, ...]

    def find(self, key_id: str | None, algorithm: str) -> Key | None:
        """Return the key of that id and algorithm; without an id, the only key of that algorithm."""
        fitting = [key for key in self.keys if key.algorithm == algorithm and key_id in (None, key.id)]
        return fitting[0] if len(fitting) == 1 else None

    def may_wait(self, key_id: str | None) -> bool:  # noqa: ARG002 - the answer is the same for every key
        """Answer False: nothing is fetched."""
        return False


class RemoteKeys:
    """
    Keys behind a URL, fetched when first needed, when stale and when a token names an unknown key.

    Fetches are at least *cooldown* seconds apart whatever tokens ask for, one at a time. While the URL does not answer,
    the last keys go on counting until they are *lifetime* seconds old, then there are none. All times in seconds of
    *timer*, which must not run backwards.
    """

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
        self._keys = StaticKeys(())
        self._fetched: float | None = None
        self._asked: float | None = None
        self._lock = Lock()

    def find(self, key_id: str | None, algorithm: str) -> Key | None:
        """Return the key of that id and algorithm, asking the URL if need be and if it may be asked again."""
        if self.may_wait(key_id):
            with self._lock:
                if self.may_wait(key_id):
                    self._ask()
        return self._current().find(key_id, algorithm)

    def may_wait(self, key_id: str | None) -> bool:
        """Answer whether the URL has to be asked, and may be."""
        now = self._timer()
        if self._asked is not None and now - self._asked < self._cooldown:
            return False
        stale = self._fetched is None or now - self._fetched >= self._refresh
        return stale or all(key.id != key_id for key in self._current().keys if key_id is not None)

    def _current(self) -> StaticKeys:
        fetched = self._fetched
        if fetched is None or self._timer() - fetched >= self._lifetime:
            return StaticKeys(())
        return self._keys

    def _ask(self) -> None:
        self._asked = self._timer()
        try:
            read = self._read(self._fetch(self.url))
        except (OSError, ValueError, Malformed):
            return
        if read.keys:
            self._keys, self._fetched = StaticKeys(read.keys), self._asked


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
