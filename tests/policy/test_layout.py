"""Rows are read by the columns of their model, and a name that its matcher would pass over is a finding."""

from __future__ import annotations

import pytest

from gatewright.policy.engine import Engine, compile_engine
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import DEFAULT_MODEL, load_policies
from gatewright.policy.layout import POLICY_COLUMNS, Layout
from gatewright.policy.matcher import read_layout, read_model
from gatewright.policy.policyset import PolicySet
from gatewright.policy.source import Source
from small_policies import CATALOG, TODAY, caller, may, names_yaml

WHO = 'g(r.sub, p.sub, r.dom) && (p.dom == "*" || p.dom == r.dom)'
BASIC = """\
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = g(r.sub, p.sub) && r.obj == p.obj && r.act == p.act
"""


def model(p: str = "sub, dom, obj, act, eft", m: str = "", g: str = "g = _, _, _\ng2 = _, _\n") -> str:
    """The model of POLICY.md with other columns, g functions or matcher."""
    text = DEFAULT_MODEL.replace(", ".join(POLICY_COLUMNS), p).replace("g = _, _, _\ng2 = _, _\n", g)
    return f"{text.partition('m = ')[0]}m = {m}\n" if m else text


def load(text: str, rows: str, tenants: str = "acme: {}, globex: {}", **files: str) -> PolicySet:
    """The policies of *rows* under the model *text*."""
    names = names_yaml().replace("acme: {}, globex: {}", tenants)
    texts = {"model.conf": text, "policy.csv": rows, "names.yaml": names, "identity.yaml": "issuers: []\n"}
    return load_policies(Source.from_texts({**texts, **files}), CATALOG)


def engine(text: str, rows: str, tenants: str = "acme: {}, globex: {}") -> Engine:
    """The engine of them."""
    return compile_engine(load(text, rows, tenants))


def faults(text: str, rows: str, tenants: str = "acme: {}, globex: {}", **files: str) -> list[str]:
    """Code, line and column of all that is wrong."""
    with pytest.raises(PolicyInvalid) as caught:
        compile_engine(load(text, rows, tenants, **files))
    return [f"{each.code} {each.place.line}:{each.place.column}" for each in caught.value.findings]


def test_a_row_has_the_columns_of_its_model_in_their_order() -> None:
    """Effect first, tenant last: the same policy."""
    text = model("eft, act, obj, sub, dom")
    decides = engine(text, "p, allow, call, logs.query, viewer, acme\np, deny, *, *, suspended, *\n")
    assert may(decides, caller("viewer"), "logs.query")
    assert not may(decides, caller("viewer", tenant="globex"), "logs.query")
    assert not may(decides, caller("viewer", "suspended"), "logs.query")
    assert faults(text, "p, viewer, acme, logs.query, call, allow\n")[0].startswith("effect 1:4")


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ("sub, dom, obj, act, eft", "p, viewer, *, logs.query, call, allow, 2026-09-30, SEC-1"),
        ("sub, dom, obj, act, eft, until", "p, viewer, *, logs.query, call, allow, 2026-09-30, SEC-1"),
        ("sub, dom, obj, act, eft, ref, until", "p, viewer, *, logs.query, call, allow, SEC-1, 2026-09-30"),
        ("until, ref, sub, dom, obj, act, eft", "p, 2026-09-30, SEC-1, viewer, *, logs.query, call, allow"),
    ],
)
def test_rows_end_in_until_and_ref_wherever_the_model_has_them(columns: str, row: str) -> None:
    """Also where it does not name them."""
    (rule,) = load(model(columns), f"{row}\n").rules
    assert (str(rule.until), rule.ref, rule.obj) == ("2026-09-30", "SEC-1", "logs.query")


def test_the_least_width_is_that_of_what_cannot_be_left_out() -> None:
    """Only until and ref at the end of a row may be absent."""
    layout = Layout(("sub", "until", "obj", "act", "ref"), {"g": 2})
    assert layout.cells("p") == ("sub", "until", "obj", "act", "ref")
    assert (layout.least("p"), layout.least("g"), layout.cells("g2")) == (4, 2, ())


@pytest.mark.case(9)
def test_a_model_without_tenant_and_effect_has_narrower_rows() -> None:
    """One tenant is declared, and the rows are its own; a fourth cell is a day, never an effect or a tenant."""
    rows = "p, viewer, logs.query, call\ng, lead, viewer\ng, subject:bea, lead, 2026-09-30, SEC-1\n"
    decides = engine(BASIC, rows, "acme: {}")
    assert may(decides, caller("lead"), "logs.query")
    assert may(decides, caller(subject="bea"), "logs.query")
    assert not may(decides, caller("lead", tenant="globex"), "logs.query")
    assert faults(BASIC, "p, viewer, logs.query, call, deny\n", "acme: {}") == ["bad_date 1:30"]
    assert faults(BASIC, "g, lead, viewer, acme\n", "acme: {}") == ["bad_date 1:18"]
    assert faults(BASIC, "p, viewer, logs.query\n", "acme: {}") == ["row_width 1:12"]


@pytest.mark.promise("P12")
def test_a_model_without_a_tenant_is_refused_where_several_or_none_are_declared() -> None:
    """With all else that is wrong, and at load: no row of it could be held to a tenant."""
    for tenants in ("acme: {}, globex: {}", ""):
        assert "model 1:1" in faults(BASIC, "p, viewr, logs.query, call\n", tenants)


def test_the_rows_of_a_tenant_s_folder_are_its_own_without_naming_it() -> None:
    """Where the model has no tenant, the folder of the one there is may hold rows too."""
    loaded = load(BASIC, "", "acme: {}", **{"tenants/acme/policy.csv": "p, subject:bea, service:a, read\n"})
    assert [rule.dom for rule in loaded.rules] == ["acme"]


def test_a_row_of_a_kind_that_the_model_does_not_define_is_a_finding() -> None:
    """Stock Casbin passes over it."""
    assert faults(
        model(g="g = _, _, _\n", m=f"{WHO} && r.obj == p.obj && r.act == p.act"), "g2, logs.query, tools/x\n"
    ) == ["unknown_row_type 1:1"]


@pytest.mark.case(7)
@pytest.mark.promise("P10")
@pytest.mark.parametrize(
    ("matcher", "row", "found"),
    [
        ("r.sub == p.sub && (p.dom == '*' || p.dom == r.dom)", "p, *, *, logs.query, call, deny", "star 1:4"),
        ("g(r.sub, p.sub, r.dom) && p.dom == r.dom", "p, suspended, *, logs.query, call, deny", "star 1:15"),
        (f"{WHO} && p.act == r.act", "p, suspended, *, logs.query, *, deny", "star 1:30"),
        (f"{WHO} && p.obj == r.obj", "p, suspended, *, logs.*, call, deny", "star 1:18"),
        (f"{WHO} && p.obj == r.obj", "p, suspended, *, *, call, deny", "star 1:18"),
        (f"{WHO} && (p.obj == '*' || p.obj == r.obj)", "p, suspended, *, logs.*, call, deny", "star 1:18"),
    ],
)
def test_a_star_that_means_nothing_to_the_matcher_is_a_finding(matcher: str, row: str, found: str) -> None:
    """A deny row for everyone that matches nobody would be lost in silence."""
    assert faults(model(m=matcher), f"{row}\n") == [found]


@pytest.mark.parametrize(
    ("act", "found"),
    [
        ("(read)|(mute)", []),
        ("re.*", []),
        ("raed", ["unknown_action 1:29"]),
        ("re.*(", ["pattern 1:29"]),
        ("(?=read)read", ["pattern 1:29"]),
    ],
)
def test_a_pattern_of_a_name_must_match_a_declared_one(act: str, found: list[str]) -> None:
    """Under regexMatch an action is an expression, and one that matches no action is misspelt."""
    text = model(m=f"{WHO} && keyMatch(r.obj, p.obj) && regexMatch(r.act, p.act)")
    rows = f'p, viewer, *, service:a-* , "{act}", allow\n'
    assert (faults(text, rows) if found else [*map(str, load(text, rows).warnings)]) == found


@pytest.mark.parametrize(
    ("operator", "obj", "found"),
    [
        ("keyMatch2", "service:/eu/:name", []),
        ("keyMatch3", "service:eu-{name}", []),
        ("keyMatch2", "servce:/eu/:name", ["unknown_type 1:15"]),
        ("keyMatch3", "service:{name", ["pattern 1:15"]),
        ("globMatch", "logs.*", []),
        ("globMatch", "logz.*", ["unknown_tool 1:15"]),
        ("globMatch", "*", ["allow_everything 1:15"]),
        ("regexMatch", "logs[.](query|purge)", []),
        ("regexMatch", "logs[.](qury|prge)", ["unknown_tool 1:15"]),
        ("regexMatch", ".*", ["star 1:15"]),
        ("regexMatch", "service:a|alert:.*", ["star 1:15"]),
        ("regexMatch", "service:a|.*", ["star 1:15"]),
        ("regexMatch", "service:(a|b)", []),
    ],
)
def test_an_object_that_is_a_pattern_names_one_type_or_known_tools(operator: str, obj: str, found: list[str]) -> None:
    """Neither everything there is, nor nothing."""
    act = "read" if obj.startswith("serv") else "call"
    text = model(m=f"{WHO} && {operator}(r.obj, p.obj) && (p.act == '*' || p.act == r.act)")
    rows = f'p, viewer, *, "{obj}", {act}, allow\n'
    assert (faults(text, rows) if found else [*map(str, load(text, rows).warnings)]) == found


def test_a_pattern_decides_by_its_operator() -> None:
    """From the folder to the decision; what is granted of the type is asked id by id."""
    text = model(m=f"{WHO} && keyMatch2(r.obj, p.obj) && (p.act == '*' || p.act == r.act)")
    decides = engine(text, "p, viewer, *, service:/eu/:name, read, allow\n")
    assert may(decides, caller("viewer"), "service:/eu/a", "read")
    assert not may(decides, caller("viewer"), "service:/eu/a/b", "read")
    who = decides.standing(caller("viewer"), TODAY)
    granted = decides.granted(who, ["viewer"], "service", "read")
    assert granted.open
    assert not granted.ids


def test_rows_of_a_model_that_does_not_load_are_read_by_its_columns() -> None:
    """What is wrong with them is found at once with what is wrong with the matcher."""
    text = model("eft, act, obj, sub, dom", m="eval(p.sub)")
    assert faults(text, "p, allow, call, logs.query, viewr, acme\n") == ["model 11:1", "unknown_role 1:29"]
    assert read_layout("nonsense") == Layout()


def test_the_model_of_the_page_has_the_usual_layout() -> None:
    """So that its rows are read the fast way."""
    layout = read_model(DEFAULT_MODEL).layout()
    assert layout.is_usual
    assert (layout.columns, layout.least("p"), layout.least("g"), layout.least("g2")) == (POLICY_COLUMNS, 5, 3, 2)
