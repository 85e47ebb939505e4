"""Reports of what was raised: for the outcome of a run, and for the answer to a call."""

from __future__ import annotations

from collections.abc import Mapping

from gx_runner.wall.wire import RefusedError

# Names of LangGraph's errors for values and nodes that a graph does not take.
_OF_THE_CALLER = {"InvalidUpdateError", "EmptyInputError"}
# Codes of errors for the same, and for a message that is not one; they stand in the text of the error.
_CODES = ("MESSAGE_COERCION_FAILURE", "INVALID_CONCURRENT_GRAPH_UPDATE", "INVALID_GRAPH_NODE_RETURN_VALUE")
_LONGEST_NAME = 100
# Names of a run's error where this server refuses something in the run: those of langgraph_sdk (`nameRefusal` in run.ts).
_NAMES_BY_STATUS = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}
_SERVER_FAULT = 500


class ProblemError(Exception):
    """A call that can not be answered, with an HTTP status and a sentence for the client."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class FactoryError(Exception):
    """What a function has opened for a graph has failed, at this place."""

    def __init__(self, place: str, error: BaseException) -> None:
        super().__init__(f"{place}: {build_failure(error)['message']}")


class UnknownNodeError(Exception):
    """A command goes to a node that the graph does not have."""


# Clients read the name of an error.
UnknownNodeError.__name__ = "UnknownNode"


def build_failure(error: BaseException) -> dict[str, str]:
    """Returns the name and the message of an error. A graph also raises errors that can not be printed."""
    if isinstance(error, (ProblemError, RefusedError)):
        other = "APIStatusError" if error.status < _SERVER_FAULT else "InternalServerError"
        return {"error": _NAMES_BY_STATUS.get(error.status, other), "message": str(error)}
    if isinstance(error, SystemExit):
        return {"error": "SystemExit", "message": "sys.exit was called: a graph ends by returning or raising."}
    try:
        return {"error": type(error).__name__, "message": str(error)}
    except Exception:
        return {"error": type(error).__name__, "message": "The graph raised an error that can not be printed."}


def build_refusal(error: BaseException, writes: bool) -> tuple[int, str]:
    """Returns the answer to a call that failed. `writes`: the call writes state, whose values come from the caller."""
    if isinstance(error, (ProblemError, RefusedError)):
        return error.status, str(error)
    if isinstance(error, FactoryError):
        return 500, str(error)
    failure = build_failure(error)
    name, message = failure["error"], failure["message"]
    if name in _OF_THE_CALLER or (writes and isinstance(error, ValueError)) or any(code in message for code in _CODES):
        return 400, message
    # Clients see the same of a run that fails.
    return 500, f"{name[:_LONGEST_NAME]}: {message}"
