"""
What does a result say to a person or a model? One constant sentence for each status and code, in English and Chinese.

In comes a key and a locale; out comes the sentence. Nothing of a call, a caller or an exception is ever in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["POLICY_NOTE", "STOP_REPAIRING", "sentence", "speaks"]

_SENTENCES: Final[Mapping[str, tuple[str, str]]] = {
    "ok": ("The call succeeded.", "调用成功。"),
    "invalid_arguments": (
        "The arguments were not accepted; correct the fields listed and send a new call.",
        "参数未被接受；请修正所列字段后重新发起调用。",
    ),
    "forbidden": ("This call is not permitted.", "不允许进行此调用。"),
    "unauthenticated": (
        "The caller's credential is missing, expired or not valid.",
        "调用方的凭证缺失、已过期或无效。",
    ),
    "approval_required": (
        "A person has to approve this call before it can run.",
        "此调用需要人工批准后才能执行。",
    ),
    "not_found": ("There is no such record.", "没有这条记录。"),
    "conflict/resource_state": (
        "The record is in a state that does not allow this; read it again before deciding.",
        "记录当前的状态不允许此操作；请重新读取后再决定。",
    ),
    "conflict/key_reused": (
        "This operation was already used for a call with other arguments.",
        "此操作标识已被另一组参数的调用使用。",
    ),
    "unknown": (
        "It is not known whether the operation took effect; do not repeat it, a person has to look.",
        "无法确定操作是否已经生效；请勿重复执行，需要人工核实。",
    ),
    "failed/timeout": ("The tool did not answer in time.", "工具未在规定时间内响应。"),
    "failed/unavailable": ("A system that the tool needs is not available.", "工具所依赖的系统暂不可用。"),
    "failed/rate_limited": ("Too many calls; the limit is reached for now.", "调用次数过多，目前已达上限。"),
    "failed/upstream_credentials": (
        "A system behind the tool did not accept the tool's own credential.",
        "工具后端的系统未接受该工具自身的凭证。",
    ),
    "failed/business_rule": ("A rule of the business does not allow this.", "业务规则不允许此操作。"),
    "failed/cancelled": ("The call was cancelled before it had an effect.", "调用在生效之前已被取消。"),
    "failed/invalid_result": (
        "The tool's result is not of the agreed shape and was withheld.",
        "工具返回的结果不符合约定的格式，已被扣留。",
    ),
    "failed/internal": ("The tool failed.", "工具执行失败。"),
}

POLICY_NOTE: Final[tuple[str, str]] = (
    "This is policy, not a fault: do not retry it, work around it or invent a result; use only the tools in your list, "
    "and say that it could not be done.",
    "这是权限策略的决定，并非故障：请勿重试、绕过或编造结果；只使用工具列表中的工具，并如实说明此事无法完成。",
)
"""The sentence that a model gets beside `forbidden`."""

STOP_REPAIRING: Final[tuple[str, str]] = (
    "The request could not be put into a valid form. Please say in other words what is wanted.",
    "未能将请求整理成有效的形式。请换一种说法说明需求。",
)
"""What to tell the user when no repair is left."""


def sentence(key: str, locale: str = "en") -> str:
    """
    Return the constant sentence of a status, or of `status/code`.

    >>> sentence("failed/timeout")
    'The tool did not answer in time.'
    """
    return speaks(_SENTENCES[key], locale)


def speaks(texts: tuple[str, str], locale: str) -> str:
    """Return the text of *locale*: Chinese for `zh` and its regions, English for anything else."""
    return texts[locale == "zh" or locale.startswith(("zh-", "zh_"))]
