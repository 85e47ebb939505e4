from typing import TypedDict

import humanize
from langgraph.graph import END, START, StateGraph

from teller.word import WORD


class State(TypedDict, total=False):
    said: str


def tell(_: State) -> State:
    return {"said": f"{WORD} {humanize.intcomma(60000)}"}


graph = StateGraph(State).add_node("tell", tell).add_edge(START, "tell").add_edge("tell", END).compile()
