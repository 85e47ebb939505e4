import time

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph


class State(MessagesState):
    started_at: float


async def say_again(state: State):
    started_at = time.time() * 1000
    return {"started_at": started_at, "messages": [{"role": "assistant", "content": f"echo: {state['messages'][-1].content}"}]}


async def say_much(state: State):
    write = get_stream_writer()
    for index in range(50):
        write({"index": index, "text": "a part of an answer, a few words long"})
    return {"started_at": time.time() * 1000}


def one_node(node):
    return StateGraph(State).add_node("answer", node).add_edge(START, "answer").add_edge("answer", END).compile()


echo = one_node(say_again)
talk = one_node(say_much)
