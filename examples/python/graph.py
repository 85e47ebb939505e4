"""A graph with two steps: it says again what it was told, a word at a time, and counts the messages of the thread."""

import asyncio

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph

# Slow enough to see the words stream.
SECONDS_PER_WORD = 0.04


async def speak(state: MessagesState) -> MessagesState:
    write = get_stream_writer()
    words = str(state["messages"][-1].content).split()
    for index, word in enumerate(words):
        await asyncio.sleep(SECONDS_PER_WORD)
        write({"word": word, "index": index})
    return {"messages": [AIMessage(" ".join(words))]}


def count(state: MessagesState) -> MessagesState:
    heard = sum(isinstance(message, HumanMessage) for message in state["messages"])
    return {"messages": [AIMessage(f"That was message {heard} of this thread.")]}


graph = (
    StateGraph(MessagesState)
    .add_node("speak", speak)
    .add_node("count", count)
    .add_edge(START, "speak")
    .add_edge("speak", "count")
    .add_edge("count", END)
    .compile()
)
