"""
Which Casbin model is this? model.conf, parsed by pycasbin and held to what the engine means.

In comes the text of a model; nothing comes out, or `PolicyInvalid`. The only place that imports casbin, and the one
that makes sure it is pycasbin's.
"""

from __future__ import annotations

import functools
import importlib.metadata
import logging
import re
from typing import Final

from casbin.model import Model

from gatewright.policy.errors import Finding, Misuse, Place, PolicyInvalid

__all__ = ["check_distribution", "check_model"]

_FILE: Final = "model.conf"
_ROLE_CONJUNCT: Final = '(p.sub=="*"||g(r.sub,p.sub,r.dom))'
_MATCHER: Final = (
    f'{_ROLE_CONJUNCT}&&(p.dom=="*"||p.dom==r.dom)&&(keyMatch(r.obj,p.obj)||g2(r.obj,p.obj))'
    '&&(p.act=="*"||p.act==r.act)'
)
_WANTED: Final = {
    ("r", "r"): "sub,dom,obj,act",
    ("p", "p"): "sub,dom,obj,act,eft,until,ref",
    ("g", "g"): "_,_,_",
    ("g", "g2"): "_,_",
    ("e", "e"): "some(where(p.eft==allow))&&!some(where(p.eft==deny))",
    ("m", "m"): _MATCHER,
}


@functools.cache
def check_distribution() -> None:
    """
    Make sure that `casbin` is what pycasbin installed.

    Raises:
        Misuse: the older distribution named casbin is installed too; the last one installed overwrites the other.
    """
    found = set(importlib.metadata.packages_distributions().get("casbin", ()))
    if found - {"pycasbin"}:
        raise Misuse(
            "two distributions provide `casbin`, and the last one installed overwrites the other",
            "pip uninstall casbin pycasbin && pip install pycasbin",
        )


def check_model(text: str) -> None:
    """
    Check that *text* is a model whose meaning the engine has.

    Raises:
        PolicyInvalid: it does not parse, or a section differs from the model of POLICY.md.
    """
    parsed = _parse(text)
    findings = []
    for (section, key), wanted in _WANTED.items():
        found = parsed.get((section, key), "")
        if re.sub(r"\s+", "", found) != wanted:
            message = f"the section {key} is not one this engine can mean"
            findings.append(Finding(Place(_FILE, _line_of(text, key)), "model", message, f"write: {key} = {wanted}"))
    for section, key in sorted(set(parsed) - set(_WANTED)):
        findings.append(Finding(Place(_FILE, _line_of(text, key)), "model", f"an unknown definition: {section}.{key}"))
    if findings:
        raise PolicyInvalid(findings)


def _parse(text: str) -> dict[tuple[str, str], str]:
    model = Model()
    logger = logging.getLogger("casbin.model")
    quiet = logger.disabled
    try:
        logger.disabled = True
        model.load_model_from_text(text)
    except Exception as error:  # noqa: BLE001 - the parser raises whatever it met; the file is at fault
        hint = type(error).__name__
        raise PolicyInvalid([Finding(Place(_FILE), "model", "pycasbin cannot parse the model", hint)]) from None
    finally:
        logger.disabled = quiet
    return {(section, key): _spelt(text, key) for section, keys in model.model.items() for key in keys}


def _spelt(text: str, key: str) -> str:
    """The right-hand side of *key* as the file spells it; pycasbin rewrites dots, also inside literals."""
    lines = text.replace("\\\n", "").splitlines()
    sides = [line.split("=", 1)[1] for line in lines if re.match(rf"\s*{key}\s*=", line)]
    return sides[0].split("#")[0].strip() if len(sides) == 1 else ""


def _line_of(text: str, key: str) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf"\s*{key}\s*=", line):
            return number
    return 1
