"""
What does it cost to know who is calling, beside bare PyJWT?

The first verification of a token and a remembered one, for RS256, ES256 and EdDSA; PyJWT with a prepared key, the same
issuer, audience and required claims, and none of the checks around it. Prints medians and ratios, one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import jwt
from _timing import reference, timed

from gatewright.middleware.identify import VerifiedTokens
from gatewright.middleware.token import Verifier, build_verifier
from gatewright.policy.model import Delegation, Names
from gatewright.testing import FakeIssuer

ALGORITHMS = ("RS256", "ES256", "EdDSA")
REQUIRED = ["iss", "sub", "aud", "exp", "iat", "jti", "client_id"]
NAMES = Names(
    roles={"agent": frozenset(), "supervisor": frozenset()},
    actors=frozenset({"copilot"}),
    tenants=frozenset({"acme"}),
    types={},
    delegate=Delegation(),
    calendars={},
    settings={},
)
CLAIMS = {"type": "object", "properties": {"branch": {"type": "string"}, "refund_limit": {"type": "integer"}}}


def no_file(name: str) -> bytes:
    """A folder without key files."""
    raise FileNotFoundError(name)


def runs_of(algorithm: str) -> dict[str, Callable[[], Any]]:
    """What is measured for one algorithm."""
    issuer = FakeIssuer(algorithm=algorithm)
    data: Any = {"issuers": [issuer.profile(["acme"], claims=CLAIMS)]}
    verifier: Verifier = build_verifier(data, NAMES, no_file)
    tokens = VerifiedTokens(verifier)
    token = issuer.token(
        "amy", "acme", ["agent"], act={"sub": "bot", "roles": ["copilot"]}, branch="zh1", refund_limit=5
    )
    key = jwt.PyJWK(issuer.jwks()["keys"][0], algorithm=algorithm)
    options: Any = {"require": REQUIRED}
    now = time.time()
    tokens.resolve(token, now)

    def bare() -> Any:
        return jwt.decode(
            token, key, algorithms=[algorithm], audience=issuer.audience, issuer=issuer.issuer, options=options
        )

    return {
        f"first {algorithm}": lambda: verifier.verify(token, now),
        f"pyjwt {algorithm}": bare,
        f"cached {algorithm}": lambda: tokens.recall(token, now),
    }


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under 30 s")
    count = 2_000 if parser.parse_args().quick else 20_000
    runs: dict[str, Callable[[], Any]] = {"reference": reference}
    for algorithm in ALGORITHMS:
        runs |= runs_of(algorithm)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for work in runs.values():
        timed(work, 100)
    for _ in range(20):
        for name, work in runs.items():
            times[name] += timed(work, count // 20)
    report({name: statistics.median(found) for name, found in times.items()})


def report(median: dict[str, float]) -> None:
    """Print a table and the JSON line."""
    for name, value in median.items():
        print(f"{name:>14}: p50 {value:8.2f} us  {value / median['reference']:7.2f} × the reference loop")
    figures = {"identity_cached_us": median["cached RS256"], "identity_first_rs256_us": median["first RS256"]}
    figures["ratio_pyjwt_first"] = median["first RS256"] / median["pyjwt RS256"]
    for algorithm in ALGORITHMS[1:]:
        figures[f"identity_first_{algorithm.lower()}_us"] = median[f"first {algorithm}"]
        figures[f"ratio_pyjwt_first_{algorithm.lower()}"] = median[f"first {algorithm}"] / median[f"pyjwt {algorithm}"]
    figures["reference_us"] = median["reference"]
    print(json.dumps({"bench": "identity", "figures": {name: round(value, 3) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
