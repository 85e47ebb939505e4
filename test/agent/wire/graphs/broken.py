"""The Python twin of broken.ts: fails in the ways in which a user's code does."""

import asyncio
import os
import sys
import threading
from typing import Any

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    how: str
    result: Any


def circle() -> dict[str, Any]:
    one: dict[str, Any] = {"name": "a circle"}
    one["self"] = one
    return one


def fail_with_an_error() -> None:
    raise TypeError("Boo!")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("do not touch")

    __repr__ = __str__


def fail_unprintable() -> None:
    raise Unprintable


def spin() -> None:
    os.write(1, b"spinning\n")
    # It holds the loop, and no exception gets in: the thread looks at nothing from here on.
    while True:
        pass


async def never() -> None:
    await asyncio.Event().wait()


def leave() -> None:
    sys.exit(1)


def die() -> None:
    os._exit(1)


def grow() -> None:
    kept = []
    while True:
        kept.append(list(range(len(kept), len(kept) + 100_000)))


class Trap:
    def __getattr__(self, name: str) -> Any:
        raise ValueError("not to be told")

    def __repr__(self) -> str:
        raise ValueError("not to be told")


async def fail_late() -> str:
    async def alone() -> None:
        await asyncio.sleep(0.05)
        raise RuntimeError("nobody waited for this")

    def beside() -> None:
        raise RuntimeError("nobody catches this")

    asyncio.get_running_loop().create_task(alone())
    threading.Timer(0.06, beside).start()
    return "done"


def written(make: Any) -> Any:
    return lambda: get_stream_writer()(make())


failures: dict[str, Any] = {
    "error": fail_with_an_error,
    "unprintable": fail_unprintable,
    "spin": spin,
    "never": never,
    "exit": leave,
    "die": die,
    "memory": grow,
    "circle": circle,
    "bigint": lambda: 2**70,
    "function": lambda: {"call": lambda: 1},
    "characters": lambda: "a\u0000b\ud800c",
    "written circle": written(circle),
    "written trap": written(Trap),
    "late": fail_late,
}


async def fail(state: State) -> dict[str, Any]:
    result = failures[state["how"]]()
    return {"result": await result if asyncio.iscoroutine(result) else result}


graph = StateGraph(State).add_node("fail", fail).add_edge(START, "fail").add_edge("fail", END).compile()
