"""
Which Casbin model is this? model.conf, parsed by pycasbin and held to what the engine means.

In comes the text of a model; nothing comes out, or `PolicyInvalid`. The only place that imports casbin, and the one
that makes sure it is pycasbin's.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

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
    ("request_definition", "r"): "sub,dom,obj,act",
    ("policy_definition", "p"): "sub,dom,obj,act,eft,until,ref",
    ("role_definition", "g"): "_,_,_",
    ("role_definition", "g2"): "_,_",
    ("policy_effect", "e"): "some(where(p.eft==allow))&&!some(where(p.eft==deny))",
    ("matchers", "m"): _MATCHER,
}
_QUOTED: Final = re.compile(r"""("[^"]*"|'[^']*')""")
_DOTTED: Final = re.compile(r"\b([rp])\.")
"""What pycasbin rewrites: r.sub is r_sub to it, also inside literals."""


class _Definition(NamedTuple):
    section: str
    key: str
    value: str
    line: int


@cache
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

    It is read twice, by pycasbin and line by line, and both readings must be the model of POLICY.md: pycasbin passes
    over sections and definitions that it does not know, and takes the last of two.

    Raises:
        PolicyInvalid: it does not parse, or a definition differs, is missing, doubled or unknown.
    """
    parsed = _parse(text)
    findings, missing = [], dict(_WANTED)
    for definition in _definitions(text):
        wanted = missing.pop((definition.section, definition.key), None)
        if wanted is None:
            findings.append(_finding(definition.line, f"a definition that is not used here: {definition.key}"))
        elif _without_spaces(definition.value) != wanted:
            message = f"the definition of {definition.key} is not one that this engine can mean"
            findings.append(_finding(definition.line, message, f"write: {definition.key} = {wanted}"))
    for (_, key), wanted in missing.items():
        findings.append(_finding(1, f"the definition of {key} is missing", f"write: {key} = {wanted}"))
    if not findings and parsed != {key: _DOTTED.sub(r"\1_", wanted) for (_, key), wanted in _WANTED.items()}:
        findings.append(_finding(1, "pycasbin reads this model in another way", "write every definition on one line"))
    if findings:
        raise PolicyInvalid(findings)


def _finding(line: int, message: str, hint: str = "") -> Finding:
    return Finding(Place(_FILE, line), "model", message, hint)


def _without_spaces(value: str) -> str:
    """*value* without what is blank outside of quotes; inside them a blank is a letter."""
    return "".join(part if part[:1] in "\"'" else "".join(part.split()) for part in _QUOTED.split(value) if part)


def _parse(text: str) -> dict[str, str]:
    """What pycasbin takes *text* for: definitions by key, without blanks."""
    model = Model()
    try:
        model.load_model_from_text(text)
    except Exception as error:  # noqa: BLE001 - the parser raises whatever it met; the file is at fault
        hint = type(error).__name__
        raise PolicyInvalid([Finding(Place(_FILE), "model", "pycasbin cannot parse the model", hint)]) from None
    return {key: _without_spaces(each.value) for keys in model.model.values() for key, each in keys.items()}


def _definitions(text: str) -> Iterator[_Definition]:
    """The definitions of *text* with their sections and lines; a line that ends in a backslash goes on."""
    section, held, start = "", "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not held and (not line or line[0] in "#;"):
            continue
        if not held and line[0] == "[" and line[-1] == "]":
            section = line[1:-1]
            continue
        start = start if held else number
        held += line.removesuffix("\\") + " "
        if not line.endswith("\\"):
            key, _, value = held.partition("=")
            yield _Definition(section, key.strip(), value.partition("#")[0], start)
            held = ""
