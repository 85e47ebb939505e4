"""The handlers of `auth.path`: an `Auth` object of langgraph_sdk, asked who calls and what a caller may do."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from gx_runner.graphs.compat import read_auth_handlers
from gx_runner.graphs.modules import LoadError
from gx_runner.graphs.user import User
from gx_runner.user_code.requests import Scope, build_scope
from gx_runner.user_code.threads import Threads
from gx_runner.wall.encode import to_json
from gx_runner.wall.failures import ProblemError

Handler = Callable[..., Any]
Json = dict[str, Any]

# The facts of a request that a handler may ask for, by the names of its parameters.
_FACTS = ("request", "path", "method", "path_params", "query_params", "headers", "authorization", "scope")
# Facts that langgraph_sdk names, and that nobody has when it is asked who calls.
_MISSING = {
    "body": "the body of a request is read after its caller is known",
    "user": "nobody is known before the handler has answered",
    "scopes": "nobody is known before the handler has answered",
}
# Nobody was let in; or the handler is wrong, where it returns something else than a text.
_NO_IDENTITY = "The authentication handler must return an identity, or an object with one, for each caller whom it lets in."


class Handlers:
    """The handlers of one `Auth` object. Raises `LoadError` when it is none, or asks for a fact that there is not."""

    def __init__(self, exported: Any, at: str, threads: Threads) -> None:
        parts = read_auth_handlers(exported)
        if parts is None:
            raise LoadError(f"auth.path: {at} is not an Auth object of langgraph_sdk.")
        if parts.authenticate is None:
            raise LoadError(f"auth.path: {at} has no authenticate handler, so nobody could be let in.")
        self._authenticate = parts.authenticate
        self._wanted = _list_wanted_facts(parts.authenticate)
        self._on = {_build_event_name(*place): handlers[-1] for place, handlers in parts.on.items() if handlers}
        self._threads = threads

    @property
    def names(self) -> list[str]:
        """Returns the names of events that have a handler, as the server knows them."""
        return list(self._on)

    async def authenticate(self, question: Json) -> Json:
        """Returns whom the handler lets in. Raises its refusal: 401 when it says so, and 403 otherwise."""
        scope = build_scope(question)
        given = {name: _read_fact(name, scope) for name in self._wanted}
        try:
            answer = await self._threads.call(self._authenticate, **given)
        except Exception as error:
            raise _build_refusal(error, lambda status: 401 if status == 401 else 403) from error
        return _build_user(answer)

    async def authorize(self, question: Json) -> Json:
        """Asks the one handler for the event. Raises `ProblemError` when the user may not do it."""
        event, value, user = question["event"], orjson.loads(question["value"]), User(question["user"])
        resource, _, action = event.partition(":")
        # The server asks by the same order (handlerNames in src/agent/auth/events.ts).
        names = (event, resource, f"*:{action}", "*")
        handler = next((self._on[name] for name in names if name in self._on), None)
        if handler is None:
            return {"value": value}
        try:
            answer = await self._threads.call(handler, ctx=_build_auth_context(user, resource, action), value=value)
        except Exception as error:
            raise _build_refusal(error, lambda status: status) from error
        rule = _read_filter(answer)
        return {"value": value} if rule is None else {"value": value, "filter": rule}


def _build_event_name(resource: str, action: str) -> str:
    if action != "*":
        return f"{resource}:{action}"
    return resource


def _list_wanted_facts(handler: Handler) -> list[str]:
    """Returns the facts that the handler asks for. Raises `LoadError` for others."""
    wanted = []
    for name, parameter in inspect.signature(handler).parameters.items():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        if name in _FACTS:
            wanted.append(name)
        elif name in _MISSING:
            raise LoadError(f'auth.path: the authenticate handler asks for "{name}": {_MISSING[name]}.')
        elif parameter.default is inspect.Parameter.empty or type(parameter.default).__name__ == "Depends":
            raise LoadError(f'auth.path: the authenticate handler asks for "{name}": there are {", ".join(_FACTS)}.')
    if "request" in wanted and _import_starlette("requests") is None:
        raise LoadError('auth.path: the authenticate handler asks for "request", which needs the package starlette.')
    return wanted


@functools.cache
def _import_starlette(name: str) -> Any:
    """Returns a module of the package starlette, or None without it. Only handlers that ask for its objects need it."""
    try:
        return importlib.import_module(f"starlette.{name}")
    except ImportError:
        return None


async def _refuse_body() -> Any:
    raise RuntimeError("auth.path: the body of a request is read after its caller is known.")


class _Headers(dict[Any, Any]):
    """Headers as bytes, as langgraph_sdk gives them. A name that is a text finds a text, as other servers give them."""

    def __getitem__(self, name: Any) -> Any:
        if not isinstance(name, str):
            return super().__getitem__(name)
        return super().__getitem__(name.lower().encode("latin-1", "replace")).decode("latin-1")

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name.lower().encode("latin-1", "replace") if isinstance(name, str) else name)

    def get(self, name: Any, default: Any = None) -> Any:
        """Returns the header, or the default where there is none."""
        try:
            return self[name]
        except KeyError:
            return default


def _read_fact(name: str, scope: Scope) -> Any:
    if name == "scope":
        return scope
    if name == "request":
        return _import_starlette("requests").Request(scope, _refuse_body)
    if name == "headers":
        return _Headers(scope["headers"])
    if name == "authorization":
        value = dict(scope["headers"]).get(b"authorization")
        return None if value is None else value.decode("latin-1")
    if name == "query_params":
        return _parse_query(scope["query_string"].decode("latin-1"))
    return scope[name]


def _parse_query(text: str) -> Any:
    """Returns the parameters as starlette does, or as the last value of each where it is not installed."""
    module = _import_starlette("datastructures")
    return dict(parse_qsl(text, keep_blank_values=True)) if module is None else module.QueryParams(text)


def _build_auth_context(user: User, resource: str, action: str) -> Any:
    from langgraph_sdk.auth.types import AuthContext

    about: Any = {"user": user, "resource": resource, "action": action}
    return AuthContext(permissions=user.permissions, **about)


def _build_user(answer: Any) -> Json:
    """Returns the user's data: only data crosses to the server, and into runs."""
    permissions: Any = None
    if isinstance(answer, (tuple, list)) and len(answer) == 2:
        permissions, answer = answer
    given = {"identity": answer} if isinstance(answer, str) else _read_fields(answer)
    identity = given.get("identity")
    # The SDK takes any text: by the empty one a handler lets in callers who did not say who they are.
    if not isinstance(identity, str):
        raise ProblemError(401 if identity is None else 500, _NO_IDENTITY)
    allowed = given.get("permissions") if permissions is None else permissions
    listed = [str(one) for one in allowed] if isinstance(allowed, (list, tuple, set, frozenset)) else []
    known = {"display_name": identity, "is_authenticated": True}
    user: Json = orjson.loads(to_json({**known, **given, "identity": identity, "permissions": listed}))
    return user


def _read_fields(answer: Any) -> Json:
    """Returns the fields of an object that stands for a user: those of its data, and the properties of its class."""
    if isinstance(answer, Mapping):
        return dict(answer)
    fields: Json = {}
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        fields = {field.name: getattr(answer, field.name) for field in dataclasses.fields(answer)}
    elif callable(dump := getattr(answer, "model_dump", None)):
        fields = dict(dump())
    elif hasattr(answer, "__dict__"):
        fields = {name: value for name, value in vars(answer).items() if not name.startswith("_")}
    for name in ("identity", "display_name", "is_authenticated", "permissions"):
        if hasattr(answer, name):
            fields.setdefault(name, getattr(answer, name))
    return fields


def _read_filter(answer: Any) -> Any:
    if answer is None or answer is True:
        return None
    if answer is False:
        raise ProblemError(403, "Forbidden")
    if isinstance(answer, dict):
        return answer
    kind = type(answer).__name__
    raise ProblemError(500, f"The authorization handler returned {kind}: it must return a filter, True, False or None.")


def _build_refusal(error: Exception, status_of: Callable[[int], int]) -> Exception:
    """Returns a handler's error as an answer. One without a status is the handler's own failure, told in the log."""
    if isinstance(error, AssertionError):
        return ProblemError(403, str(error) or "Forbidden")
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or not 400 <= status < 600:
        return error
    detail, headers = getattr(error, "detail", None), getattr(error, "headers", None)
    sentence = detail if isinstance(detail, str) and detail else "Forbidden"
    given = {str(name).lower(): str(value) for name, value in headers.items()} if isinstance(headers, Mapping) else {}
    return ProblemError(status_of(status), sentence, given)
