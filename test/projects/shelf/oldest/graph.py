from operator import add
from typing import Annotated

from typing_extensions import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph


class Settings(TypedDict, total=False):
    word: str


class State(TypedDict, total=False):
    text: str
    heard: Annotated[list[str], add]


def hear(state: State, config: RunnableConfig) -> State:
    return {"heard": [f"{config['configurable'].get('word', 'heard')} {state['text']}"]}


graph = StateGraph(State, config_schema=Settings).add_node("hear", hear).add_edge(START, "hear").add_edge("hear", END).compile()
