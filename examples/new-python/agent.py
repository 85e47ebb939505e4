"""An agent with one step, which asks the model for an answer."""

from langchain_core.messages import SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from model import model

INSTRUCTIONS = SystemMessage("You are a helpful assistant. Answer in a few sentences.")


async def answer(state: MessagesState) -> MessagesState:
    """The thread keeps the messages, so the model sees the whole conversation."""
    return {"messages": [await model.ainvoke([INSTRUCTIONS, *state["messages"]])]}


graph = (
    StateGraph(MessagesState)
    .add_node("answer", answer)
    .add_edge(START, "answer")
    .add_edge("answer", END)
    .compile()
)
