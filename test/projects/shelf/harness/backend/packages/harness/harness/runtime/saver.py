from contextlib import asynccontextmanager

from langgraph.checkpoint.memory import InMemorySaver


@asynccontextmanager
async def make_saver():
    """The server's way to the saver that the configuration names."""
    yield InMemorySaver()
