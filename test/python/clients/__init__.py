"""Cases of LangGraph's Python clients: langgraph_sdk, async and sync, and RemoteGraph."""

from collections.abc import Callable
from typing import TypeVar

Case = TypeVar("Case", bound=Callable[..., object])

ASKING = {"messages": [], "value": "init", "items": []}
QUESTION = {"messages": [{"role": "user", "content": "Hi there"}]}


def case(function: Case) -> Case:
    """Marks a function as a case, which is given the address of a server."""
    function.is_case = True  # type: ignore[attr-defined]
    return function
