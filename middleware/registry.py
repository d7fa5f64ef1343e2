"""
Which tools are registered with a guard? By name, in their order; no two names could be taken for one another.

In come tools as they are decorated; out comes the map that every call reads. Forgets none.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

from gatewright.middleware.registration import Tool
from gatewright.policy.errors import Misuse

__all__ = ["Registry"]

_ALIKE: Final = str.maketrans({"0": "o", "1": "l", "i": "l", "-": ".", "_": "."})


class Registry:
    """
    The tools of one guard.

    Attributes:
        tools: by name; it only grows.
    """

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self._looks: dict[str, str] = {}
        self._lock = Lock()

    def add(self, tool: Tool) -> None:
        """
        Register *tool*.

        Raises:
            Misuse: its name is taken, or differs from another only in case or in letters that look alike.
        """
        looks = tool.name.lower().translate(_ALIKE)
        with self._lock:
            taken = self._looks.get(looks)
            if taken == tool.name:
                raise Misuse(f"the tool {tool.name} is registered already", "a name belongs to one function")
            if taken is not None:
                raise Misuse(f"the name {tool.name} could be taken for {taken}", "choose one that looks different")
            self._looks[looks] = tool.name
            self.tools[tool.name] = tool
