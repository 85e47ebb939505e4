"""Graphs that keep items and find them by meaning, and embeddings that count words."""

from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

WORDS = ("red", "green", "blue")


class Items(TypedDict, total=False):
    texts: list[str]
    query: str
    found: list[str]


def _counted(text: str) -> list[float]:
    return [float(text.count(word)) for word in WORDS]


async def embed(texts: list[str]) -> list[list[float]]:
    return [_counted(text) for text in texts]


def embed_now(texts: list[str]) -> list[list[float]]:
    return [_counted(text) for text in texts]


class Counting(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [_counted(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return _counted(text)


counting = Counting()


async def too_short(texts: list[str]) -> list[list[float]]:
    return [[1.0] for _ in texts]


async def raising(texts: list[str]) -> list[list[float]]:
    raise RuntimeError("no such model")


nothing = 3


async def keep(state: Items, *, store: BaseStore) -> Items:
    for text in state.get("texts", []):
        await store.aput(("words",), text, {"text": text})
    found = await store.asearch(("words",), query=state["query"], limit=2)
    return {"found": [item.key for item in found]}


def keep_blocking(state: Items, *, store: BaseStore) -> Items:
    for text in state.get("texts", []):
        store.put(("words",), text, {"text": text})
    return {"found": [item.key for item in store.search(("words",), query=state["query"], limit=2)]}


async def keep_in_the_loop(state: Items, *, store: BaseStore) -> Items:
    return keep_blocking(state, store=store)


def _built(node: Any) -> Any:
    return StateGraph(Items).add_node("keep", node).add_edge(START, "keep").compile()


keeps, blocks, holds = _built(keep), _built(keep_blocking), _built(keep_in_the_loop)


async def live(state: Items, *, store: BaseStore) -> Items:
    await store.aput(("lives",), "default", {})
    await store.aput(("lives",), "minutes", {}, ttl=2.5)
    await store.aput(("lives",), "forever", {}, ttl=None)
    await store.aget(("lives",), "default", refresh_ttl=False)
    try:
        await store.aput(("lives",), "never", {}, ttl=-1)
    except Exception as error:
        return {"found": [str(error)]}
    return {}


lives = _built(live)
