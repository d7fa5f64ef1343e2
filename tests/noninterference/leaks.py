"""
The seeded leaks: each a text of one module and what stands there instead, and where it must be found.

They are what the suite is measured by: one that it cannot find means that the suite is too weak.
"""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass

PATHS = "paths"
"""Found by the line trace alone: every byte is the same."""


@dataclass(frozen=True)
class Leak:
    """*old* must stand exactly once in the module of this file; *found* is the family that finds it, or `PATHS`."""

    name: str
    file: str
    old: str
    new: str
    found: str

    @property
    def module(self) -> str:
        """The module's name."""
        return "gatewright." + self.file.removesuffix(".py").replace("/", ".")


_REFUSED = "        tool=name,\n    )\n    return call.stop(FORBIDDEN)"
_HIDDEN = "        tool=name,\n    )\n    "
_THERE = 'any(getattr(call, "records", {}).values())'
_LOGGED = '__import__("logging").getLogger("gatewright").warning("…")'
_KNOWN = "len(call.runtime.interactions._known)"
_STOPPED = "    return call.stop(verdict_result(verdict))"

LEAKS = (
    Leak("the refusal of a hidden tool has a sentence of its own", "middleware/admit.py", _REFUSED, _HIDDEN + "return call.stop(FORBIDDEN if spec is None else type(FORBIDDEN)('It is not for you.'))", "F1"),
    Leak("a hidden tool is forbidden, a made-up one not found", "middleware/admit.py", _REFUSED, _HIDDEN + "from gatewright.middleware.results import NOT_FOUND\n    return call.stop(NOT_FOUND if spec is None else FORBIDDEN)", "F1"),
    Leak("a tool file's sentence is told to everybody", "middleware/admit.py", _REFUSED, _HIDDEN + "return call.stop(type(FORBIDDEN)(getattr(snapshot.policies.tools.get(name), 'refusal', None)))", "F1"),
    Leak("a hidden tool is logged", "middleware/admit.py", _REFUSED, _HIDDEN + f"_ = tool and {_LOGGED}\n    return call.stop(FORBIDDEN)", "F1"),
    Leak("a hidden tool has a line more in the journal", "middleware/admit.py", _REFUSED, _HIDDEN + "_ = tool and call.runtime.journal.append(b'{}')\n    return call.stop(FORBIDDEN)", "F1"),
    Leak("refusals of hidden tools use up the repairs of others", "middleware/admit.py", _REFUSED, _HIDDEN + "_ = tool and [call.progress.count_refused(each) for each in call.runtime.tools]\n    return call.stop(FORBIDDEN)", "F8"),
    Leak("a hidden tool's schema is asked before admission", "middleware/admit.py", "    if view is None or tool is None or tool.spec.digest", "    if view is None and tool is not None and call.raw == '{}':\n        from gatewright.middleware.results import InvalidArguments\n        return call.stop(InvalidArguments(()))\n    if view is None or tool is None or tool.spec.digest", "F8"),
    Leak("a made-up tool is refused early", "middleware/admit.py", "    spec = snapshot.policies.catalog.get(name)\n", "    spec = snapshot.policies.catalog.get(name)\n    if spec is None:\n        return call.stop(FORBIDDEN)\n", PATHS),
    Leak("the id of a call tells that its tool is there", "middleware/runtime.py", "_last_call.set(trail.call)", "_last_call.set(trail.call + '!' * (name in self.tools))", "F1"),
    Leak("a tool of another stage breaks", "policy/verdict.py", 'tool if is_on else ""', 'tool if is_on else 1 / 0', "F1"),
    Leak("the views of made-up tools are not looked for", "policy/verdict.py", "return snapshot.view(caller, tool if", "return None if tool not in snapshot.policies.tools else snapshot.view(caller, tool if", PATHS),
    Leak("a hidden tool is worked out anew each time", "policy/snapshot.py", "                self._closed[key] = None", "                _ = tool in self.policies.tools or self._closed.__setitem__(key, None)", PATHS),
    Leak("views are kept by role, without tenant and subject", "policy/snapshot.py", "        key = (tool, caller.key or caller_key(caller), today)", "        key = (tool, repr(sorted(caller.roles)).encode(), today)", "F2"),
    Leak("lists are kept without the caller", "policy/snapshot.py", "whole = (caller_key(caller), key)", "whole = (b'', key)", "F11"),
    Leak("a list says how many tools there are", "middleware/listing.py", "tools = [render_view(view, format).plain() for view in views]", "tools = [*[render_view(view, format).plain() for view in views], {'of': len(call.runtime.tools)}]", "F11"),
    Leak("a list names hidden tools as disabled", "middleware/listing.py", "tools = [render_view(view, format).plain() for view in views]", "tools = [*[render_view(view, format).plain() for view in views], *[{'name': name, 'disabled': True} for name in call.runtime.tools]]", "F11"),
    Leak("the order of a list depends on hidden tools", "middleware/listing.py", "views = list(_open(call, context))", "views = list(_open(call, context))[:: -1 if len(call.runtime.tools) % 2 else 1]", "F11"),
    Leak("a record that is there takes the sentence away", "middleware/refuse.py", _STOPPED, f"    return call.stop(FORBIDDEN if {_THERE} else verdict_result(verdict))", "F6"),
    Leak("a record that is there uses up repairs", "middleware/refuse.py", _STOPPED, f"    _ = {_THERE} and call.progress.count_refused(call.tool_name)\n{_STOPPED}", "F8"),
    Leak("a foreign record is a conflict", "middleware/refuse.py", _STOPPED, f"    return call.stop(ConflictResult('resource_state') if {_THERE} else verdict_result(verdict))", "F2"),
    Leak("an error tells that others have an entry of their own", "middleware/refuse.py", "schema_changed=schema_changed(call),", "schema_changed=any(each.id == 'chief' for each in call.snapshot.policies.tools[call.tool_name].allow or ()),", "F8"),
    Leak("what an hour allows counts everybody's ids", "middleware/refuse.py", 'return FailedResult("rate_limited")', "return FailedResult('rate_limited', retry_after=float(len(__import__('gatewright.middleware.identifiers', fromlist=['_']).__dict__['_drawn'])))", "F12"),
    Leak("absence is told to everybody", "policy/settlement.py", "absent and may_tell and not broken", "absent and not broken", "F2"),
    Leak("the state is asked before whose it is", "policy/settlement.py", "_ask_resources(settling) or _ask_state(settling)", "_ask_state(settling) or _ask_resources(settling)", "F6"),
    Leak("an absent record is not judged", "policy/settlement.py", "    is_loaded = not isinstance(record, NotLoaded)\n", "    is_loaded = not isinstance(record, NotLoaded)\n    if record is None:\n        return False\n", PATHS),
    Leak("an absent record's shape is not asked", "policy/settlement.py", "fits = attributes is None or attributes", "fits = record is None or attributes is None or attributes", PATHS),
    Leak("a record that is there is loaded twice", "middleware/load.py", "        judged[name, identity] = found if", "        _ = found is not None and (yield Wait(loader, identity, call.caller.tenant))\n        judged[name, identity] = found if", PATHS),
    Leak("an absent record is logged", "middleware/load.py", "        judged[name, identity] = found if", f"        _ = found is None and {_LOGGED}\n        judged[name, identity] = found if", "F2"),
    Leak("a foreign record is noted twice", "middleware/conclude.py", "        call.runtime.journal.append(call.trail.line())", f"        line = call.trail.line()\n        _ = [call.runtime.journal.append(line) for _ in range(1 + (call.step == 'authorize' and {_THERE}))]", "F2"),
    Leak("the exception of a direct call tells that a record is there", "middleware/decorate.py", "stop(result, call.id).throw()", f"stop(result, call.id + '!' * {_THERE}).throw()", "F2"),
    Leak("filtered says whether something was filtered", "middleware/release.py", "filtered = filtered or cut.filtered", "filtered = filtered or cut.dropped > 0", "F3"),
    Leak("a page counts the rows that were there", "middleware/release.py", "filtered, as_of, version, ref)\n    return Released(result, dropped=cut.dropped, size=size)\n\n\ndef _withheld", "filtered, as_of, version, str(len(page['items'])))\n    return Released(result, dropped=cut.dropped, size=size)\n\n\ndef _withheld", "F3"),
    Leak("truncated counts before the filter", "middleware/release.py", 'or page.get("truncated") is True', "or len(page['items']) > (plan.cuts.rows or 99)", "F3"),
    Leak("a version is made of what is hidden", "middleware/release.py", "value.as_of, value.version, value.ref)", "value.as_of, repr(value.data), value.ref)", "F2"),
    Leak("a cursor leaves as the tool wrote it", "middleware/release.py", "next_cursor=sealed)", "next_cursor=page.next_cursor)", "F3"),
    Leak("a cursor is as long as the tool's own", "middleware/cursor.py", "padded = payload + bytes(-len(payload) % _BLOCK)", "padded = payload", "F3"),
    Leak("rows are cut off before they are filtered", "policy/cuts.py", "    dropped: list[int] = []\n    try:", "    dropped: list[int] = []\n    value = value if cuts.rows is None else _limit(value, cuts.rows)[0]\n    try:", "F3"),
    Leak("the order of what is kept depends on what is not", "policy/cuts.py", "        return kept\n\n    return keep", "        return kept[:: -1 if len(value) % 2 else 1]\n\n    return keep", "F3"),
    Leak("a large value is not hidden", "policy/cuts.py", 'if name not in ("*", other)}', 'if name not in ("*", other) or item == 4}', "F2"),
    Leak("a redacted text keeps its length", "policy/masks.py", "    return REDACTED\n\n\ndef mask_schema", "    return '*' * len(value)\n\n\ndef mask_schema", "F2"),
    Leak("interactions are shared by tenants", "middleware/interaction.py", "return caller.tenant, caller.subject, caller.issuer", "return '', caller.subject, caller.issuer", "F12"),
    Leak("interactions are shared by subjects", "middleware/interaction.py", "return caller.tenant, caller.subject, caller.issuer", "return caller.tenant, '', caller.issuer", "F12"),
    Leak("a budget is shared by subjects", "middleware/spending.py", '"subject": caller.subject', '"subject": ""', "F12"),
    Leak("a budget is shared by tenants", "middleware/spending.py", "(caller.tenant, budget.per, whose)", "('', budget.per, whose)", "F12"),
    Leak("keys are shared by tenants", "middleware/operations.py", "scope = [tenant, subject,", "scope = [subject,", "F9"),
    Leak("keys are shared by subjects", "middleware/operations.py", "scope = [tenant, subject,", "scope = [tenant,", "F9"),
    Leak("approvals are counted", "middleware/approve.py", "call.verdict.duties.approvals, new_id()", f"call.verdict.duties.approvals, f'{{{_KNOWN}:032x}}'", "F10"),
    Leak("an approval lasts longer where others ask too", "middleware/approve.py", "expires_at=call.now + min(", f"expires_at={_KNOWN} + call.now + min(", "F10"),
)  # fmt: skip
"""Each is found; see docs/leaks.md."""
