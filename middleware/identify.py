"""
Have we seen this token before? Verified tokens are remembered for a while, by their digest.

In comes a token's text; out comes its caller, verified now or not long ago, or `Unverified`. Keeps digests and
never a token.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from threading import Lock
from typing import Final

from cachetools import LRUCache

from gatewright.middleware.compact import MAX_TOKEN
from gatewright.middleware.token import Verifier
from gatewright.middleware.unverified import Unverified
from gatewright.policy.caller import Caller

__all__ = ["VerifiedTokens"]

_LONGEST: Final = 300.0
_MOST: Final = 8192
_MOST_RECENT: Final = 1024


class VerifiedTokens:
    """
    Callers by the SHA-256 of their token, of one verifier.

    One entry lives until its token expires, at most *longest* seconds, and not past the moment when its issuer's keys
    change or are to be asked for again. Of threads that bring the same new token at
    once, one verifies and the others wait for it. Refusals are not remembered. A reload that changes profiles or
    keys makes a new verifier, and with it a new one of these.
    """

    def __init__(self, verifier: Verifier, *, longest: float = _LONGEST, most: int = _MOST) -> None:
        self.verifier = verifier
        self._longest = longest
        self._known: LRUCache[bytes, tuple[Caller, float, tuple[bytes, ...]]] = LRUCache(maxsize=most)
        self._recent: dict[bytes, tuple[Caller, float, tuple[bytes, ...]]] = {}
        self._verifying: dict[bytes, Future[Caller]] = {}
        self._lock = Lock()

    def recall(self, token: str | None, now: float) -> Caller | None:
        """Return the caller of a token verified before, or None. Never waits."""
        digest = _digest(token)
        return None if digest is None else self._recall(digest, now)

    def resolve(self, token: str | None, now: float) -> Caller:
        """
        Return the caller of *token*, verifying it where it is not remembered.

        Raises:
            Unverified: nobody is calling.
        """
        digest = _digest(token)
        if digest is None:
            return self.verifier.verify(token, now)
        caller = self._recall(digest, now)
        return caller if caller is not None else self._verify_once(digest, token, now)

    def _recall(self, digest: bytes, now: float) -> Caller | None:
        known = self._recent.get(digest) or self._look_up(digest)
        if known is None or now >= known[1] or (known[2] and known[2] != self.verifier.editions):
            return None
        return known[0]

    def _look_up(self, digest: bytes) -> tuple[Caller, float, tuple[bytes, ...]] | None:
        """Return what is kept of a token, and hold it where it is found without a lock."""
        with self._lock:
            known = self._known.get(digest)
            if known is not None:
                self._keep_recent(digest, known)
        return known

    def _keep_recent(self, digest: bytes, known: tuple[Caller, float, tuple[bytes, ...]]) -> None:
        """What was recent is let go of all at once, and found again."""
        if len(self._recent) >= _MOST_RECENT:
            self._recent = {}
        self._recent[digest] = known

    def _verify_once(self, digest: bytes, token: str | None, now: float) -> Caller:
        mine: Future[Caller] = Future()
        with self._lock:
            answer = self._verifying.setdefault(digest, mine)
        if answer is mine:
            self._answer(mine, digest, token, now)
        failure = answer.exception()
        if failure is None:
            return answer.result()
        raise Unverified(failure.reason, failure.detail) if isinstance(failure, Unverified) else failure

    def _answer(self, mine: Future[Caller], digest: bytes, token: str | None, now: float) -> None:
        verifier = self.verifier
        try:
            editions = verifier.editions
            caller = verifier.verify(token, now)
            if editions != verifier.editions:  # fetched meanwhile: judged again, by the keys that it is kept under
                editions, caller = verifier.editions, verifier.verify(token, now)
            until = min(caller.expires_at, now + min(self._longest, verifier.fresh_for(caller)))
        except BaseException as error:  # noqa: BLE001 - whoever waits must be told, whatever happened
            with self._lock:
                del self._verifying[digest]
            mine.set_exception(error)
            return
        with self._lock:
            self._known[digest] = (caller, until, editions)
            self._keep_recent(digest, (caller, until, editions))
            del self._verifying[digest]
        mine.set_result(caller)


def _digest(token: str | None) -> bytes | None:
    """Return the token's digest; None for what cannot be a token, and is not worth remembering."""
    if not isinstance(token, str) or not 0 < len(token) <= MAX_TOKEN or not token.isascii():
        return None
    return hashlib.sha256(token.encode()).digest()
