"""The current span of OpenTelemetry in a run. It is imported by those whose project has that package."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry import context, trace


class _CurrentSpan(trace.NonRecordingSpan):
    """Stands for the span of the node or the tool under way, which the server itself records."""

    def __init__(self, get_trace_headers: Callable[[], dict[str, str]]) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self._get_trace_headers = get_trace_headers

    def get_span_context(self) -> trace.SpanContext:
        """Returns the place of a request that is made now."""
        headers = self._get_trace_headers()
        if "traceparent" not in headers:
            return trace.INVALID_SPAN_CONTEXT
        _, trace_id, span_id, flags = headers["traceparent"].split("-")
        state = trace.TraceState.from_header([headers["tracestate"]]) if "tracestate" in headers else None
        place = (int(trace_id, 16), int(span_id, 16))
        return trace.SpanContext(*place, True, trace.TraceFlags(int(flags, 16)), state)


def attach_current_span(get_trace_headers: Callable[[], dict[str, str]]) -> None:
    """Makes it the current one of this task, and of those that it starts."""
    context.attach(trace.set_span_in_context(_CurrentSpan(get_trace_headers)))
