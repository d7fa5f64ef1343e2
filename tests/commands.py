"""Runs one command as a shell would, in this process."""

from __future__ import annotations

import sys
from unittest.mock import patch

import pytest

from gatewright.cli import main as command


def run(*arguments: str) -> int:
    """The exit code of one command."""
    with patch.object(sys, "argv", ["gatewright", *arguments]), pytest.raises(SystemExit) as ended:
        command.main()
    code = ended.value.code
    return code if isinstance(code, int) else 0
