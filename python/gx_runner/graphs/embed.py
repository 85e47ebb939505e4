"""The embedding of `store.index`: texts become vectors in a thread of its own, so that no graph delays it."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from gx_runner.graphs.modules import LoadError, import_attribute
from gx_runner.wall.failures import ProblemError

_AT = "store.index.embed"
_log = logging.getLogger("gx_runner")

Vectors = list[list[float]]
_Function = Callable[[list[str]], Any]


class Embedder:
    """A graph may wait for a vector in the loop of the graphs, which therefore makes none."""

    def __init__(self, index: dict[str, Any]) -> None:
        self._dims: int = index["dims"]
        self._function = _load_function(index["embed"])
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="gx-embed", daemon=True).start()

    def run_in_thread(self, work: Coroutine[Any, Any, None]) -> None:
        """Does the work in the thread of the embedding."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    async def embed(self, texts: list[str]) -> Vectors:
        """Returns a vector of length one for each text, in their order."""
        try:
            made = [[float(number) for number in vector] for vector in await self._function(texts)]
        except Exception as error:
            _log.error("%s failed", _AT, exc_info=error)
            sentence = f"{_AT}: the embedding failed ({type(error).__name__}); the log of the server says why."
            raise ProblemError(500, sentence) from error
        if len(made) != len(texts) or any(len(vector) != self._dims for vector in made):
            sentence = f"store.index: the embedding did not give one vector of {self._dims} numbers for each text."
            raise ProblemError(500, sentence)
        return [_scale_to_unit(vector) for vector in made]


def _scale_to_unit(vector: list[float]) -> list[float]:
    """Returns the vector scaled to length one, so that the product of two is their cosine."""
    length = math.hypot(*vector)
    return vector if length == 0 else [number / length for number in vector]


def _load_function(source: dict[str, Any]) -> Callable[[list[str]], Awaitable[Any]]:
    if "provider" in source:
        return _wrap_awaitable(_find_embed_method(_load_model(f"{source['provider']}:{source['model']}")))
    file, name = source["file"], source["exportName"]
    exported = import_attribute(_AT, file, name)
    if hasattr(exported, "embed_documents") and not isinstance(exported, type):
        return _wrap_awaitable(_find_embed_method(exported))
    if not callable(exported):
        raise LoadError(f'{_AT}: "{name}" of {file} is neither a function nor an Embeddings object.')
    return _wrap_awaitable(exported)


def _find_embed_method(embeddings: Any) -> _Function:
    return getattr(embeddings, "aembed_documents", None) or embeddings.embed_documents  # type: ignore[no-any-return]


def _wrap_awaitable(function: _Function) -> Callable[[list[str]], Awaitable[Any]]:
    """Returns the function as one that can be awaited; one that waits without awaiting holds up no other texts."""

    async def embed(texts: list[str]) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(texts)
        made = await asyncio.to_thread(function, texts)
        return await made if inspect.isawaitable(made) else made

    return embed


def _load_model(name: str) -> Any:
    """Returns the model of a provider, from the packages of the project."""
    try:
        from langchain.embeddings import init_embeddings  # type: ignore[import-not-found]
    except ImportError:
        lacks = f'{_AT}: "{name}" needs the package langchain, which {sys.executable} does not have'
        raise LoadError(f"{lacks}: run {sys.executable} -m pip install langchain and the provider's package.") from None
    try:
        return init_embeddings(name)
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise LoadError(f'{_AT}: "{name}" can not be loaded: {text}') from error
