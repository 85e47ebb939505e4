"""Graphs whose states have long lists, which they add to, change in place and cut."""

import asyncio
import json
import operator
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict


class Talk(TypedDict, total=False):
    does: str
    at: int
    number: int
    messages: Annotated[list[AnyMessage], add_messages]
    notes: list[Any]
    # What the lists hold, as a text, which is always stored whole.
    expected: str


def shown(messages: list[Any], notes: list[Any]) -> str:
    return json.dumps([[one.type, one.content, one.id] for one in messages] + notes)


def said(number: int) -> AnyMessage:
    kind = AIMessage if number % 2 else HumanMessage
    return kind(f"{number}: " + "word " * 60, id=f"m{number}", response_metadata={"number": number})


async def edit(state: Talk) -> Talk:
    messages, notes, number = state.get("messages", []), state.get("notes", []), state.get("number", 0)
    does = state["does"]
    new: list[Any] = [said(number)]
    if messages and does == "change":
        # The same objects, changed where they are.
        messages[state["at"] % len(messages)].content += " and more"
        notes[state["at"] % len(notes)]["deep"][0]["done"] = 1
    elif messages and does == "remove":
        new = [RemoveMessage(id=messages[state["at"] % len(messages)].id)]
        notes = notes[: state["at"] % len(notes)] + notes[state["at"] % len(notes) + 1 :]
    elif messages and does == "replace":
        new = [HumanMessage("replaced " * 20, id=messages[state["at"] % len(messages)].id)]
        notes = [notes[-1], *notes[:-1]]
    elif does == "clear":
        new = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *map(said, range(number, number + 8))]
    notes = [*notes, {"number": number, "text": "note " * 40, "deep": [{"done": True}]}]
    expected = shown(add_messages([one.model_copy() for one in messages], new), notes)
    return {"messages": new, "notes": notes, "number": number + 8, "expected": expected}


edits = StateGraph(Talk).add_node("edit", edit).add_edge(START, "edit").add_edge("edit", END).compile()


class Growth(TypedDict, total=False):
    to: int
    pause: float
    asks: bool
    parts: Annotated[list[str], operator.add]


async def grow(state: Growth) -> Growth:
    await asyncio.sleep(state.get("pause", 0))
    number = len(state.get("parts", []))
    return {"parts": [f"{number} " + "part " * 100]}


async def ask(state: Growth) -> Growth:
    return {"parts": [interrupt("more?")]} if state.get("asks") else {}


def further(state: Growth) -> str:
    return "grow" if len(state["parts"]) < state["to"] else "ask"


growing = StateGraph(Growth).add_node("grow", grow).add_node("ask", ask).add_edge(START, "grow")
growing.add_conditional_edges("grow", further, ["grow", "ask"]).add_edge("ask", END)
grows = growing.compile()
around = StateGraph(Growth).add_node("within", growing.compile()).add_edge(START, "within").add_edge("within", END).compile()
