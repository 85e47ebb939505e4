from typing_extensions import TypedDict

from langgraph.graph import StateGraph
from langgraph.runtime import Runtime


class Settings(TypedDict, total=False):
    ending: str


class Words(TypedDict, total=False):
    text: str
    shouted: list[str]


def shout(state: Words, runtime: Runtime[Settings]) -> Words:
    ending = (runtime.context or {}).get("ending", "!")
    return {"shouted": [*state.get("shouted", []), state["text"].upper() + ending]}


builder = StateGraph(Words, context_schema=Settings)
builder.add_node(shout)
builder.set_entry_point("shout")
builder.set_finish_point("shout")
agent = builder.compile()
