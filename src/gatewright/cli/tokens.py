"""
Commands for local work: a signing key of one's own, and tokens signed with it that the policies folder believes.

In come a policies folder and who is to be pretended; out come a key and tokens. Refuses a folder of production, and
believes nothing that the folder's own verifier does not.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from gatewright.middleware.issuers import locate, read_profiles
from gatewright.middleware.profiles import Profile
from gatewright.middleware.token import build_verifier
from gatewright.middleware.unverified import Unverified
from gatewright.policy.caller import Caller
from gatewright.policy.errors import Misuse
from gatewright.policy.folder import load_identity
from gatewright.policy.model import JsonObject, Names
from gatewright.policy.source import Source, read_folder
from gatewright.testing import FakeIssuer

__all__ = ["app", "key", "mint"]

app: typer.Typer = typer.Typer(help="Keys and tokens for local work; never for production.", no_args_is_help=True)

_KEY: Final = Path(".gatewright/dev-key.pem")
_LIFETIME: Final = 3600.0
_ACT: Final = "act"
_WHY: Final = {
    "key": "the issuer's keys do not hold this one; gatewright token key --write adds it",
    "signature": "another key has its id",
    "algorithm": "the issuer lists another algorithm than the key's",
    "tenant": "say --tenant with one that the issuer may assert",
    "roles": "roles are plain names",
    "actor": "the issuer names no actors, or a name is malformed",
    "claims": "a declared claim has another type, or is missing",
    "lifetime": "it would not live at all",
}
_CLIENT: Final = "gatewright-token"
_ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")

_Policies = Annotated[Path, typer.Argument(help="The policies folder.")]
_Issuer = Annotated[str | None, typer.Option(help="The alias of the issuer to stand in for; the first unless said.")]
_KeyFile = Annotated[Path, typer.Option("--key", help="Where the private key is.")]


@app.command()
def key(
    policies: _Policies = Path("policies"),
    issuer: _Issuer = None,
    file: _KeyFile = _KEY,
    write: Annotated[bool, typer.Option("--write", help="Add the public key to the issuer's key file.")] = False,
) -> None:
    """Make a private key for one of the issuer's algorithms, unless there is one; print its public key set."""
    profile = _profile(_local(policies), issuer)
    pem = file.read_bytes() if file.exists() else _new_key(profile, file)
    public = _stand_in(profile, pem).jwks()
    print(json.dumps(public, indent=2))
    if not write:
        print("to believe it, add it to the issuer's keys, or say --write", file=sys.stderr)
        return
    if profile.keys.file is None:
        raise Misuse(f"the keys of {profile.alias} are in no file", "add the key set printed above to identity.yaml")
    _add(policies / profile.keys.file, public["keys"])
    print(f"{policies / profile.keys.file} holds it now; do not deploy that", file=sys.stderr)


@app.command()
def mint(
    policies: _Policies = Path("policies"),
    sub: Annotated[str, typer.Option(help="The subject.")] = "dev",
    tenant: Annotated[
        str | None, typer.Option(help="The tenant; the first that the issuer may assert unless said.")
    ] = None,
    role: Annotated[list[str] | None, typer.Option(help="A role; may be said several times.")] = None,
    act: Annotated[list[str] | None, typer.Option(help="An agent that acts; several: the outermost first.")] = None,
    act_role: Annotated[list[str] | None, typer.Option(help="A role of the outermost agent.")] = None,
    claim: Annotated[list[str] | None, typer.Option(help="NAME=VALUE, the value JSON or else text.")] = None,
    lifetime: Annotated[float, typer.Option(help="Seconds; at most what the issuer may give.")] = _LIFETIME,
    issuer: _Issuer = None,
    file: _KeyFile = _KEY,
) -> None:
    """Print a token that the policies believe, and on standard error whom it names."""
    folder = _local(policies)
    profile = _profile(folder, issuer)
    if not file.exists():
        raise Misuse(f"there is no key at {file}", "make one: gatewright token key --write")
    token = _stand_in(profile, file.read_bytes()).token(
        sub,
        tenant or min(profile.tenants.listed, default=""),
        role or [],
        act=_chain(profile, act or [], act_role or []),
        lifetime=min(lifetime, profile.lifetime),
        typ=profile.typ,
        client_id=_CLIENT,
        **dict(_claim(each) for each in claim or []),
    )
    caller = _believed(folder, token)
    print(token)
    acting = "" if caller.actor is None else f", {caller.actor.id} acting"
    print(f"{caller.subject} of {caller.tenant}, roles {sorted(caller.roles)}{acting}", file=sys.stderr)


class _Folder(NamedTuple):
    source: Source
    data: JsonObject
    names: Names


def _local(policies: Path) -> _Folder:
    """Read a folder that is not of production."""
    source = read_folder(policies)
    data, names = load_identity(source)
    if data.get("production", False) is not False:
        raise Misuse(f"{policies}/identity.yaml says production: true", "no keys and tokens for that are made here")
    return _Folder(source, data, names)


def _profile(folder: _Folder, alias: str | None) -> Profile:
    listed = read_profiles(folder.data, folder.names, locate(folder.source.files.get("identity.yaml"))).listed
    found = [profile for profile in listed if alias in (None, profile.alias)]
    if not found:
        raise Misuse(
            f"there is no issuer {alias!r}" if alias else "identity.yaml names no issuer", "say --issuer ALIAS"
        )
    return found[0]


def _stand_in(profile: Profile, pem: bytes) -> FakeIssuer:
    """Return what signs as the issuer of *profile* with the private key *pem*."""
    return FakeIssuer(
        profile.issuer,
        profile.audience,
        _algorithm(pem),
        tenant_claim=profile.tenant_claim,
        roles_claim=profile.roles_claim or "roles",
        actor_claim=_ACT if profile.actor is None else profile.actor.claim,
        key=pem,
    )


def _algorithm(pem: bytes) -> str:
    kinds = (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey)
    try:
        made = load_pem_private_key(pem, None)
    except (ValueError, TypeError):
        made = None
    for name, kind in zip(_ALGORITHMS, kinds, strict=True):
        if isinstance(made, kind):
            return name
    raise Misuse("this is no private key of RS256, ES256 or EdDSA", "make one: gatewright token key")


def _new_key(profile: Profile, file: Path) -> bytes:
    """Make a key that only its owner may read."""
    fitting = [name for name in _ALGORITHMS if name in profile.algorithms]
    if not fitting:
        raise Misuse(f"{profile.alias} lists none of {', '.join(_ALGORITHMS)}", "add one to its algorithms")
    pem = FakeIssuer(algorithm=fitting[-1]).private_key()
    file.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(pem)
    return pem


def _add(file: Path, keys: Sequence[Mapping[str, str]]) -> None:
    """Add *keys* to a key set, in the place of those of the same id."""
    there = json.loads(file.read_bytes())["keys"] if file.exists() else []
    ids = {each["kid"] for each in keys}
    kept = [each for each in there if each.get("kid") not in ids]
    file.write_text(json.dumps({"keys": [*kept, *keys]}, indent=2) + "\n", "utf-8")


def _chain(profile: Profile, agents: Sequence[str], roles: Sequence[str]) -> dict[str, Any] | None:
    chain: dict[str, Any] | None = None
    claim = _ACT if profile.actor is None else profile.actor.claim
    for agent in reversed(agents):
        chain = {"sub": agent, **({} if chain is None else {claim: chain})}
    if chain is not None and roles and profile.actor is not None:
        chain[profile.actor.roles or "roles"] = list(roles)
    return chain


def _claim(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _believed(folder: _Folder, token: str) -> Caller:
    """Return whom *token* names; a token that the folder does not believe is of no use to anybody."""
    verifier = build_verifier(folder.data, folder.names, folder.source.files.__getitem__)
    try:
        return verifier.verify(token, time.time())
    except Unverified as error:
        why = _WHY.get(error.detail, "see docs/identity.md")
        print(f"the policies would not believe this token: {error.detail} ({why})", file=sys.stderr)
        raise typer.Exit(1) from None
