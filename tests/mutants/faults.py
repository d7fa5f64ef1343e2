"""The faults: each a text of one source file of the judge and what stands there instead."""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """*old* must stand exactly once in policy/*file*."""

    name: str
    file: str
    old: str
    new: str


FAULTS = (
    Fault("the facts are never asked", "settlement.py", "_ask_facts(settling) or _ask_context(settling)", "_ask_context(settling)"),
    Fault("the context is never asked", "settlement.py", "_ask_facts(settling) or _ask_context(settling)", "_ask_facts(settling)"),
    Fault("the state is never asked", "settlement.py", "_ask_resources(settling) or _ask_state(settling)", "_ask_resources(settling)"),
    Fault("the context is asked before the facts", "settlement.py", "_ask_facts(settling) or _ask_context(settling)", "_ask_context(settling) or _ask_facts(settling)"),
    Fault("the last entry speaks on a tie", "verdict.py", "-item[0])", "item[0])"),
    Fault("the entry that stopped first speaks", "verdict.py", "position, furthest = max(", "position, furthest = min("),
    Fault("nothing is inherited", "standing.py", "found.add(link.role)", "found.discard(link.role)"),
    Fault("roles of another tenant are inherited", "standing.py", "if live and link.dom in (tenant, \"*\") and", "if live and"),
    Fault("excluded roles go together", "standing.py", "excluded=any(", "excluded=False and any("),
    Fault("the first limit is forgotten", "view.py", "(*policy.limits, *tenant", "(*policy.limits[1:], *tenant"),
    Fault("a tenant's limits are forgotten", "view.py", "*tenant.limits.get(tool, ()))", ")"),
    Fault("a limit's entries are not read", "view.py", "limit.entries is not None and entry not in", "False and entry not in"),
    Fault("a limit's roles are not read", "view.py", "limit.roles is not None and not", "False and not"),
    Fault("a limit's actors are not read", "view.py", "return limit.actors is None or", "return True or"),
    Fault("a pinned argument may be sent", "template.py", 'cut.how in ("hidden", "pin")', 'cut.how == "hidden"'),
    Fault("what the entry does not name is shown", "template.py", "if (name,) not in entry.arguments)", "if (name,) in ())"),
    Fault("nothing is denied", "index.py", "if deny & held or own_deny:", "if False:"),
    Fault("the actor is not asked", "index.py", "        if standing.actor:", "        if False:"),
    Fault("a grant ends a day early", "index.py", "if day <= last:", "if day < last:"),
    Fault("groups do not count", "cells.py", "in self._groups.tools_of(rule.obj).items():", "in ():"),
    Fault("unless is read the wrong way round", "screening.py", "if not _is_off(", "if _is_off("),
    Fault("an absent record of any scope is not found", "settlement.py", 'spec.scope == "tenant"', "True"),
    Fault("a condition does not hide an absent record", "settlement.py", 'not _on(candidate, name, "resource")\n        and ', ""),
    Fault("a deny row does not hide an absent record", "settlement.py", "or not view.engine.denies_type(", "or not (lambda *_: False)("),
    Fault("a grant of any role gives an argument", "screening.py", "action, entry.roles).allowed", "action).allowed"),
    Fault("a grant of any role gives a resource", "settlement.py", "view.spec.action, entry.roles).allowed", "view.spec.action).allowed"),
    Fault("only the first granted id is shown", "view.py", "sorted(granted.ids)}", "sorted(granted.ids)[:1]}"),
    Fault("defaults are not filled", "filling.py", "            if name not in filled:", "            if name in ():"),
    Fault("a violation that forbids is invalid", "conditions.py", "return name in self._forbidden", "return False"),
    Fault("an unfilled reference is invalid", "conditions.py", "        except Unfilled:\n            return True", "        except Unfilled:\n            return False"),
    Fault("one call more than the budget", "settlement.py", "used.calls + 1 > budget.calls", "used.calls > budget.calls"),
    Fault("a sum up to the budget is refused", "settlement.py", "used.total + amount > budget.maximum", "used.total + amount >= budget.maximum"),
    Fault("stages are not read", "verdict.py", "is_on = stages is None or", "is_on = True or"),
    Fault("whose thing it is does not matter", "screening.py", "if not whose or not all(", "if not all("),
    Fault("a condition on nothing holds", "settlement.py", "if conditions and not settling.named[name]:\n            return settling.fail(", "if False:\n            return settling.fail("),
    Fault("a missing reason does not matter", "screening.py", "if not reasoned and any(", "if False and any("),
)  # fmt: skip
