"""Requests that a graph makes carry its place in a trace, so that the trace goes on in other services.

Those by httpx, requests and urllib3 do, and those to the graph's own server. A project that brings OpenTelemetry finds
the place as its current span, so that its own instrumentation of other libraries goes on from there, too.
"""

from __future__ import annotations

import contextvars
import functools
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from gx_runner.process.own_threads import pass_to_threads
from gx_runner.telemetry.spans import Spans

_PARENT = "traceparent"
# The mark of a library that is served.
_SERVED = "__gx_passes_traces__"


@dataclass(frozen=True)
class _Place:
    """The headers of a run's own span, and the spans of its parts."""

    headers: dict[str, str]
    spans: Spans | None


_PLACE: contextvars.ContextVar[_Place | None] = contextvars.ContextVar("gx_trace", default=None)


def pass_trace(spec: dict[str, Any], spans: Spans | None) -> None:
    """From now on, requests of this task and of the tasks and threads that it starts carry the place of the run."""
    if (headers := spec.get("passed_on")) is not None:
        pass_to_threads(_PLACE)
        _PLACE.set(_Place(headers, spans))
        _serve()
        _attach_current_span()


def get_trace_headers() -> dict[str, str]:
    """Returns the headers of a request that is made now: those of the node or the tool that makes it."""
    if (place := _PLACE.get()) is None:
        return {}
    call = _call_now()
    span_id = None if place.spans is None or call is None else place.spans.find_span(call)
    if span_id is None:
        return place.headers
    version, trace_id, _, flags = place.headers[_PARENT].split("-")
    return {**place.headers, _PARENT: f"{version}-{trace_id}-{span_id}-{flags}"}


def _call_now() -> UUID | None:
    """Returns the id of the call of a node or a tool under way, as LangChain's callbacks name it."""
    module = sys.modules.get("langchain_core.runnables.config")
    config = None if module is None else module.var_child_runnable_config.get()
    call: UUID | None = getattr((config or {}).get("callbacks"), "parent_run_id", None)
    return call


def _serve() -> None:
    """Has the libraries that are loaded by now ask for the headers, each once. Other requests are left as they are."""
    for name in ("httpx", "httpx2"):
        if (module := _claim_module(name)) is not None:
            _add_to_httpx(module.Client)
            _add_to_httpx(module.AsyncClient)
    if (module := _claim_module("urllib3")) is not None:
        _add_to_urllib3(module.HTTPConnectionPool)


def _claim_module(name: str) -> Any:
    module = sys.modules.get(name)
    if module is None or hasattr(module, _SERVED):
        return None
    setattr(module, _SERVED, True)
    return module


def _add_to_httpx(client: Any) -> None:
    send = client.send

    @functools.wraps(send)
    def send_with_trace(self: Any, request: Any, **more: Any) -> Any:
        _add(request.headers)
        return send(self, request, **more)

    client.send = send_with_trace


def _add_to_urllib3(pool: Any) -> None:
    urlopen = pool.urlopen

    @functools.wraps(urlopen)
    def send_with_trace(
        self: Any, method: str, url: str, body: Any = None, headers: Any = None, *rest: Any, **more: Any
    ) -> Any:
        if found := get_trace_headers():
            # The headers of a pool are those of its other requests, too.
            given = self.headers if headers is None else headers
            headers = given if _has_parent(given) else {**given, **found}
        return urlopen(self, method, url, body, headers, *rest, **more)

    pool.urlopen = send_with_trace


def _has_parent(headers: Mapping[str, Any]) -> bool:
    return any(name.lower() == _PARENT for name in headers)


def _add(headers: MutableMapping[str, str]) -> None:
    """Adds the headers, unless there are some already, as in a project that brings OpenTelemetry."""
    if not _has_parent(headers):
        headers.update(get_trace_headers())


def _attach_current_span() -> None:
    """Makes the place the current span of OpenTelemetry, where the project has loaded it."""
    if "opentelemetry.trace" not in sys.modules:
        return
    from gx_runner.telemetry.current_span import attach_current_span

    attach_current_span(get_trace_headers)
