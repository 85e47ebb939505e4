from dotenv import load_dotenv
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import START, MessagesState, StateGraph

load_dotenv()


def answer(state: MessagesState):
    """Counts the turns."""
    turn = sum(message.type == "human" for message in state["messages"])
    return {"messages": [AIMessage(f"turn {turn}")]}


builder = StateGraph(MessagesState)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")

# A saver of its own, from the time before it had a server.
agent = builder.compile(checkpointer=MemorySaver())
