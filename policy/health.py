"""
How are the policies? What is in force, how sure that is, and what went wrong last.

In comes what a store knows; out comes a frozen record. Decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from gatewright.policy.errors import Finding

__all__ = ["Health"]


@dataclass(frozen=True, slots=True)
class Health:
    """
    How the policies are.

    *degraded*: the newest policies are not in force, or nobody knows whether they are. *findings* say why the last
    load failed. *age_s* is how long ago the source was last seen to say what is in force. *outdated*: that is longer
    ago than the maximum age, so writes are refused. *revision* is the one in force; *held* says that it was rolled back
    to, until the source changes. *loaded_s* is how long ago it was put into force.
    """

    degraded: bool
    age_s: float
    findings: tuple[Finding, ...] = ()
    revision: str = ""
    outdated: bool = False
    held: bool = False
    loaded_s: float = 0.0
