"""
Tokens of the corpus: how a case of tests/data/tokens.yaml becomes the text of a token.

Two issuers are believed: `login` (RS256; acme, globex) and `partner` (EdDSA; globex, initech). Every case starts from
one good token of `login` and changes what it names, so that nothing else can be the reason of its refusal.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from gatewright.middleware.token import Verifier, build_verifier
from gatewright.policy.model import Delegation, Names
from gatewright.testing import FakeClock, FakeIssuer, encode_part

NOW = 1_800_000_000.0
CLAIMS = {
    "type": "object",
    "properties": {"branch": {"type": "string"}, "refund_limit": {"type": "integer"}, "shape": {"type": "object"}},
}
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def names(*tenants: str) -> Names:
    """Return the names of a small organisation."""
    return Names(
        roles={"analyst": frozenset(), "lead": frozenset()},
        actors=frozenset({"copilot"}),
        tenants=frozenset(tenants or ("acme", "globex", "initech")),
        types={},
        delegate=Delegation(),
        calendars={},
        settings={},
    )


@cache
def login() -> FakeIssuer:
    """Return the issuer of the good token."""
    return FakeIssuer("https://login.example", "tools", "RS256", clock=FakeClock(NOW))


@cache
def partner() -> FakeIssuer:
    """Return the other believed issuer."""
    return FakeIssuer("https://partner.example", "tools", "EdDSA", clock=FakeClock(NOW))


@cache
def stranger() -> FakeIssuer:
    """Return an issuer that nobody believes, whatever it calls itself."""
    return FakeIssuer("https://login.example", "tools", "RS256", clock=FakeClock(NOW))


def no_file(_name: str) -> bytes:
    """Stand in for a folder without key files."""
    raise FileNotFoundError


@cache
def verifier() -> Verifier:
    """Return the verifier that the corpus is shown to."""
    issuers = [
        login().profile(["acme", "globex"], "login", claims=CLAIMS, lifetime="1h", leeway="5s"),
        partner().profile(["globex", "initech"], "partner", lifetime="1h"),
    ]
    return build_verifier({"issuers": issuers}, names(), no_file)


def read_corpus(folder: Path) -> list[dict[str, Any]]:
    """Return the cases of every tokens*.yaml in *folder*."""
    files = sorted(folder.glob("tokens*.yaml"))
    return [case for file in files for case in yaml.safe_load(file.read_text("utf-8"))]


def craft(case: Mapping[str, Any]) -> str:
    """Return the token that *case* describes."""
    if "text" in case:
        return str(case["text"])
    issuer = {"login": login, "partner": partner, "stranger": stranger}[case.get("signed_by", "login")]()
    payload = _payload(case, issuer)
    header = case["raw_header"].encode() if "raw_header" in case else _header(case)
    token = issuer.sign(payload, header)
    return _TWISTS[case["twist"]](token) if "twist" in case else token


def _header(case: Mapping[str, Any]) -> dict[str, Any]:
    header = dict(case.get("header", {}))
    if header.get("kid") == "$login":
        header["kid"] = login().key_id
    if header.get("jwk") == "$stranger":
        header["jwk"] = stranger().jwks()["keys"][0]
    if case.get("signed_by") == "stranger":
        header.setdefault("kid", login().key_id)
    return header


def _payload(case: Mapping[str, Any], issuer: FakeIssuer) -> bytes:
    sub, roles = ("ann", ["analyst"])
    claims = issuer.claims(sub, case.get("tenant", "acme"), roles)
    claims |= {name: _value(value) for name, value in case.get("claims", {}).items()}
    for name in case.get("without", ()):
        del claims[name]
    text = json.dumps(claims)
    if "raw_claims" in case:  # further members as they are written, to say what no encoder would
        text = f"{text[:-1]}, {case['raw_claims']}}}"
    return case["raw_payload"].encode() if "raw_payload" in case else text.encode()


def _value(value: Any) -> Any:
    """Read `{now: seconds}` as a time, `{repeat: [text, times]}` as a long string; anything else as it is."""
    if isinstance(value, dict) and set(value) == {"now"}:
        return int(NOW) + value["now"]
    if isinstance(value, dict) and set(value) == {"repeat"}:
        return value["repeat"][0] * value["repeat"][1]
    if isinstance(value, dict) and set(value) == {"nest"}:
        return json.loads("[" * value["nest"] + "]" * value["nest"])
    if isinstance(value, dict):
        return {name: _value(item) for name, item in value.items()}
    return value


def _parts(token: str) -> list[str]:
    return token.split(".")


def _reversed_bytes(segment: str) -> str:
    """The bytes of a segment the other way round, spelled canonically."""
    return encode_part(base64.urlsafe_b64decode(segment + "==")[::-1])


def _odd_bits(segment: str) -> str:
    """Return another spelling of the same bytes: the unused bits of the last letter are set."""
    spare = {2: 4, 3: 2}[len(segment) % 4]
    last = _ALPHABET.index(segment[-1])
    return segment[:-1] + _ALPHABET[last ^ ((1 << spare) - 1)]


def _public_key(encoding: serialization.Encoding, form: serialization.PublicFormat) -> bytes:
    key = login().jwks()["keys"][0]
    n, e = (int.from_bytes(base64.urlsafe_b64decode(key[name] + "==")) for name in ("n", "e"))
    return rsa.RSAPublicNumbers(e, n).public_key().public_bytes(encoding, form)


def hmac_token(token: str, secret: bytes, **header: str) -> str:
    """Return *token* with its header changed to HS256 and its signature to an HMAC with *secret*."""
    before = json.loads(base64.urlsafe_b64decode(_parts(token)[0] + "=="))
    signed = f"{encode_part(json.dumps({**before, 'alg': 'HS256', **header}).encode())}.{_parts(token)[1]}"
    return f"{signed}.{encode_part(hmac.digest(secret, signed.encode(), hashlib.sha256))}"


def _pem_hmac(token: str) -> str:
    pem = _public_key(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hmac_token(token, pem)


def _der_hmac(token: str) -> str:
    der = _public_key(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hmac_token(token, der)


def _jwk_hmac(token: str) -> str:
    return hmac_token(token, json.dumps(login().jwks()["keys"][0]).encode())


_TWISTS: dict[str, Callable[[str], str]] = {
    "drop signature": lambda token: ".".join(_parts(token)[:2]) + ".",
    "drop last part": lambda token: ".".join(_parts(token)[:2]),
    "add a part": lambda token: f"{token}.e30",
    "five parts": lambda token: f"{token}.e30.e30",
    "pad signature": lambda token: f"{token}==",
    "pad header": lambda token: ".".join([_parts(token)[0] + "=", *_parts(token)[1:]]),
    "odd bits in signature": lambda token: ".".join([*_parts(token)[:2], _odd_bits(_parts(token)[2])]),
    "space inside": lambda token: token[:-8] + " " + token[-8:],
    "newline at end": lambda token: f"{token}\n",
    "space before": lambda token: f" {token}",
    "bearer before": lambda token: f"Bearer {token}",
    "standard alphabet": lambda token: ".".join([*_parts(token)[:2], "+/" + _parts(token)[2][2:]]),
    "letter from another script": lambda token: token[:-1] + "а",
    "surrogate": lambda token: token[:-1] + "\ud800",
    "nul": lambda token: token[:-1] + "\x00",
    "flip signature": lambda token: ".".join([*_parts(token)[:2], _reversed_bytes(_parts(token)[2])]),
    "empty signature bytes": lambda token: ".".join([*_parts(token)[:2], "AA"]),
    "signature of another token": lambda token: ".".join([*_parts(token)[:2], _parts(login().token())[2]]),
    "payload of another token": lambda token: ".".join(
        [_parts(token)[0], _parts(login().token(roles=["lead"]))[1], _parts(token)[2]]
    ),
    "public key as secret, PEM": _pem_hmac,
    "public key as secret, DER": _der_hmac,
    "public key as secret, JWK": _jwk_hmac,
    "empty secret": lambda token: hmac_token(token, b""),
    "json serialization": lambda token: json.dumps(
        dict(zip(("protected", "payload", "signature"), _parts(token), strict=True))
    ),
}
