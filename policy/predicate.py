"""
How is a matcher run? Its tree compiled once into one Python function.

In comes an `Expression`; out comes a function of a request, a row and the g functions. The syntax tree is built here,
node by node, from nodes of the closed grammar: no text of a policy is ever evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Final, TypeAlias, cast

from gatewright.policy.operators import OPERATORS
from gatewright.policy.syntax import All, Call, Comparison, Either, Expression, Literal, Negation, OneOf, Operand

__all__ = ["FIELDS", "Predicate", "compile_predicate"]

FIELDS: Final = ("sub", "dom", "obj", "act")
"""What a request and a row are made of."""

Predicate: TypeAlias = "Callable[..., bool]"
"""Takes the four fields of a request, the four of a row, and then g and g2."""

_PARAMETERS: Final = [*(f"{side}_{field}" for side in "rp" for field in FIELDS), "g", "g2"]
_SIGNS: Final[Mapping[str, ast.cmpop]] = {
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}


def compile_predicate(expression: Expression) -> Predicate:
    """
    Return *expression* as a function.

    >>> from gatewright.policy.syntax import parse_matcher
    >>> is_open = compile_predicate(parse_matcher("r.act == 'read'", {}))
    >>> is_open("amy", "t", "a", "read", "", "", "", "", None, None)
    True
    """
    arguments = ast.arguments([], [ast.arg(name) for name in _PARAMETERS], None, [], [], None, [])
    tree = ast.Expression(ast.Lambda(arguments, _node(expression)))
    module = compile(ast.fix_missing_locations(tree), "<matcher>", "eval")
    code = next(each for each in module.co_consts if isinstance(each, CodeType))
    return cast("Predicate", FunctionType(code, {"__builtins__": {}, **OPERATORS}, "matcher"))


def _node(expression: Expression) -> ast.expr:
    match expression:
        case All(parts):
            return ast.BoolOp(ast.And(), [_node(part) for part in parts])
        case Either(parts):
            return ast.BoolOp(ast.Or(), [_node(part) for part in parts])
        case Negation(part):
            return ast.UnaryOp(ast.Not(), _node(part))
        case Comparison(sign, left, right):
            return ast.Compare(_value(left), [_SIGNS[sign]], [_value(right)])
        case OneOf(item, options):
            listed = ast.Tuple([ast.Constant(option) for option in options], ast.Load())
            return ast.Compare(_value(item), [ast.In()], [listed])
        case Call(name, operands):
            return ast.Call(ast.Name(name, ast.Load()), [_value(operand) for operand in operands], [])


def _value(operand: Operand) -> ast.expr:
    if isinstance(operand, Literal):
        return ast.Constant(operand.text)
    return ast.Name(f"{operand.side}_{operand.field}", ast.Load())
