"""What the dialect takes of regular expressions means in Node what it means here."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from gatewright.policy.patterns import fault_of
from gatewright.policy.validator import compile_schema

ATOMS = (
    *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", ".", r"[\d]", r"[^\d]", r"[\w]", r"[^\w]", r"[\s]", r"[^\s]", r"[\D]"),
    *(
        r"[\W]",
        r"[^\W]",
        r"[^\S]",
        r"[\d\s]",
        r"[\w-]",
        r"[^\w\s]",
        r"[a-z\d]",
        "[^a-z]",
        r"\p{L}",
        r"\P{L}",
        r"\p{Lu}",
    ),
    *(r"[\p{L}\d]", r"[^\p{L}]", r"\x41", r"\u0041", r"\u{1F600}", r"\cJ", r"\0", r"\t", r"\v", r"\f", r"\n", r"\r"),
    *(r"\/", r"[\-a]", "[.]", "[^.]", "[$]", r"[\n-\r]", r"[\x00-\x1f]", r"[\u0000-\u00ff]", r"\p{Script=Greek}"),
    *(
        r"\p{Nd}",
        r"\p{Alphabetic}",
        r"\p{White_Space}",
        r"\p{Uppercase}",
        "K",
        "k",
        "[^K]",
        "a{0}b?",
        "(?:a|b)",
        "(?<x>a)",
    ),
    *(
        "[a-]",
        "[-a]",
        "a*?",
        "a|",
        "|a",
        "()",
        r"\u212A",
        r"\p{gc=Lu}",
        "😀",
        "[😀]",
        r"\$",
        r"\.",
        r"[\]]",
        r"a{2,}b?",
    ),
    *(
        r"\bcat",
        r"a\B",
        "[]a]",
        "[^]a]",
        "a**",
        "a?+",
        r"\pL",
        "{1}",
        "]",
        "}",
        "(?i:a)",
        "[a&&b]",
        r"\1",
        r"\a",
        r"\z",
    ),
)
LETTERS = [chr(code) for code in range(1, 0x180)] + [
    *map(chr, (0x17F, 0x212A, 0x130, 0x3B1, 0x416, 0x660, 0x663, 0x966, 0x1680, 0x180E, 0x2000, 0x200B, 0x200D)),
    *map(chr, (0x2028, 0x2029, 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF, 0xFF21, 0x1D7CE, 0x1F600, 0x10FFFF, 0xE000)),
]
TEXTS = [*LETTERS, "", "ab", "aa", "aab", "a\n", "\na", "écat", "cat", "aé", "aaa"]
SCRIPT = """
const [patterns, texts] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const ask = (pattern) => texts.map((text) => new RegExp(pattern, "u").test(text));
console.log(JSON.stringify(patterns.map(ask)));
"""


@pytest.mark.long
@pytest.mark.case(52)
def test_every_construct_that_is_taken_means_the_same_in_node() -> None:
    """Anchored and not, over every letter that engines tell apart; and most constructs are taken."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node")
    patterns = [each for atom in ATOMS for each in (atom, f"^{atom}$", f"^(?:{atom})+$") if not fault_of(each)]
    asked = json.dumps([patterns, TEXTS])
    done = subprocess.run([node, "-e", SCRIPT], input=asked, capture_output=True, text=True, check=True, timeout=60)
    for pattern, answers in zip(patterns, json.loads(done.stdout), strict=True):
        accepts = compile_schema({"pattern": pattern}).accepts
        assert [accepts(text) for text in TEXTS] == answers, pattern
    assert len(patterns) > 2 * len(ATOMS)
