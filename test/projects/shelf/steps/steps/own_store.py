from contextlib import asynccontextmanager

from langgraph.store.memory import InMemoryStore


@asynccontextmanager
async def own_store():
    yield InMemoryStore()
