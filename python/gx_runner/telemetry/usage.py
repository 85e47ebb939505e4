"""The usage that a model's answer tells, as LangChain's packages write it: one reading for all of them.

It is that of JavaScript's graphs (src/agent/graph-thread/read-usage.ts). Both read the same recorded answers in their
tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# The most tokens that a field holds: an integer of Postgres (MAX_CALL_COUNT in model-call.ts).
MAX_COUNT = 2_147_483_647

# US dollars above which a price is none, and characters of a name (MAX_CALL_USD, MAX_CALL_NAME).
_MAX_USD = 1_000_000
_MAX_NAME_CHARACTERS = 256

# Classes of service that are no special ones, by the words of OpenAI, Anthropic and Bedrock.
_USUAL_TIERS = frozenset({"default", "standard", "auto", "on_demand"})
# OpenAI's classes of service stand before the names of counts: `flex_cache_read`.
_TIERS = ("flex", "priority")
_TIER_PREFIX = re.compile(r"^(?:flex|priority)_")

Tokens = dict[str, int]


def read_answer_usage(response: Any) -> dict[str, Any]:
    """Returns what the answer of a model tells, an `LLMResult` of LangChain."""
    first = next((one for part in response.generations[:1] for one in part), None)
    message = getattr(first, "message", None)
    metadata = {
        **_read_mapping(getattr(first, "generation_info", None)),
        **_read_mapping(getattr(message, "response_metadata", None)),
    }
    reported = _read_mapping(getattr(message, "usage_metadata", None))
    old = _read_mapping(response.llm_output)
    raw = _read_mapping(metadata.get("usage") or metadata.get("token_usage") or old.get("token_usage"))
    about: dict[str, Any] = {}
    if (model := read_name(metadata.get("model_name") or metadata.get("model") or old.get("model_name"))) is not None:
        about["model"] = model
    if (tier := _read_tier(reported, metadata.get("service_tier") or raw.get("service_tier"))) is not None:
        about["tier"] = tier
    # LangChain's core puts the price into the counts of an answer from its cache, and leaves the counts as they were.
    if reported.get("total_cost") == 0:
        return {**about, "tokens": {"input": 0, "output": 0}, "cached": True}
    if (tokens := read_tokens(reported, raw) or _read_old_tokens(old, metadata)) is not None:
        about["tokens"] = tokens
    if (cost := read_cost(metadata.get("cost", raw.get("cost")))) is not None:
        about["cost_usd"] = cost
    return about


def read_tokens(reported: Mapping[str, Any], raw: Mapping[str, Any]) -> Tokens | None:
    """Returns the counts of a `usage_metadata`; none where it tells none, and not zero."""
    given, made = _read_count(reported.get("input_tokens")) or 0, _read_count(reported.get("output_tokens")) or 0
    # Packages write zeros where the provider has reported nothing.
    if given + made == 0:
        return None
    into, out = _read_details(reported.get("input_token_details")), _read_details(reported.get("output_token_details"))
    split = _read_mapping(raw.get("cache_creation"))
    hours = into.get("ephemeral_1h_input_tokens", _read_count(split.get("ephemeral_1h_input_tokens")) or 0)
    read, written = into.get("cache_read", 0), _compute_written(into, hours)
    cached = read + written + hours
    # Some packages leave the tokens of caches out of the input.
    total = given + cached if cached > given else given
    # A total above its parts has tokens of thinking that a package left out.
    thought = max(0, (_read_count(reported.get("total_tokens")) or 0) - total - made)
    details = {
        "cache_read": read,
        "cache_write": written,
        "cache_write_1h": hours,
        "reasoning": out.get("reasoning", 0) + thought,
        "audio_in": into.get("audio", 0),
        "audio_out": out.get("audio", 0),
    }
    # A sum may be larger than a count can be.
    counts = {"input": total, "output": made + thought, **{name: count for name, count in details.items() if count > 0}}
    return {name: min(count, MAX_COUNT) for name, count in counts.items()}


def _compute_written(into: dict[str, int], hours: int) -> int:
    """Returns the tokens that were written to a cache for the usual time.

    Where an answer splits them by time, its `cache_creation` is zero in one language, and the sum of both in the other.
    """
    minutes, both = into.get("ephemeral_5m_input_tokens", 0), into.get("cache_creation", 0)
    return both - hours if both >= minutes + hours else both + minutes


def _read_old_tokens(old: Mapping[str, Any], metadata: Mapping[str, Any]) -> Tokens | None:
    """Returns the counts of models without `usage_metadata`: as LangChain had them before, or as Ollama names them."""
    usage = _read_mapping(old.get("token_usage"))
    given = _read_count(usage.get("prompt_tokens", metadata.get("prompt_eval_count"))) or 0
    made = _read_count(usage.get("completion_tokens", metadata.get("eval_count"))) or 0
    return {"input": given, "output": made} if given + made > 0 else None


def _read_details(details: Any) -> dict[str, int]:
    found = {_TIER_PREFIX.sub("", str(name)): _read_count(value) for name, value in _read_mapping(details).items()}
    return {name: count for name, count in found.items() if count is not None}


def _read_tier(reported: Mapping[str, Any], named: Any) -> str | None:
    """Returns the class of service: by its name, or by the counts that bear it; none for the usual one."""
    details = _read_mapping(reported.get("input_token_details"))
    tier = read_name(named) or next((name for name in _TIERS if name in details), None)
    return None if tier is None or tier in _USUAL_TIERS else tier


def _read_count(value: Any) -> int | None:
    """Returns a count of tokens; none for all that is none, such as a negative number."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return value if is_count else None


def read_cost(value: Any) -> float | None:
    """Returns a price in US dollars; none for all that is none."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= _MAX_USD else None


def read_name(value: Any) -> str | None:
    """Returns a name as Postgres takes it, of at most 256 characters; none for all that is none."""
    return (value.replace("\0", "")[:_MAX_NAME_CHARACTERS] or None) if isinstance(value, str) else None


def _read_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
