"""Counts the tokens that the models of a run use, as LangChain's callbacks report them.

It is that of JavaScript's graphs (src/agent/graph-thread/running.ts).
"""

from __future__ import annotations

import threading
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGeneration, LLMResult


class TokenCount(BaseCallbackHandler):
    """Hears of the answers of a run's models. It takes no time, so it is called where they happen."""

    run_inline = True

    def __init__(self) -> None:
        # Nodes that are plain functions report from threads of their own.
        self._lock = threading.Lock()
        self._sum = 0
        self._is_whole = True

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """A model has answered."""
        tokens = _count_tokens(response)
        with self._lock:
            if tokens is None:
                self._is_whole = False
            else:
                self._sum += tokens

    def count(self) -> int | None:
        """Returns the count: none of a run in which a model did not say, and 0 of one without models."""
        return self._sum if self._is_whole else None


def _count_tokens(response: LLMResult) -> int | None:
    """Returns the tokens of a model's answer; none where it does not say."""
    first = next((one for part in response.generations[:1] for one in part), None)
    stated = (getattr(first.message, "usage_metadata", None) if isinstance(first, ChatGeneration) else None) or {}
    usage = (response.llm_output or {}).get("token_usage") or {}
    names = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    found = [stated.get(name, usage.get(other)) for name, other in names]
    counts = [count for count in found if isinstance(count, int) and count >= 0]
    return sum(counts) if counts else None
