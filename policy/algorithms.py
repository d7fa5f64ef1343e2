"""
Which signature algorithms may an issuer list, and what key does each of them need?

A table and nothing else; identity.yaml is checked by it, and keys are fitted by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["ALGORITHMS"]

ALGORITHMS: Final[Mapping[str, tuple[str, str | None]]] = MappingProxyType(
    {
        **{f"{family}{size}": ("RSA", None) for family in ("RS", "PS") for size in (256, 384, 512)},
        "ES256": ("EC", "P-256"),
        "ES384": ("EC", "P-384"),
        "ES512": ("EC", "P-521"),
        "EdDSA": ("OKP", "Ed25519"),
        **{f"HS{size}": ("oct", None) for size in (256, 384, 512)},
    }
)
"""Every algorithm a profile may list → the key type and curve it needs (RFC 7518, RFC 8037)."""
