"""Requests of the server as ASGI describes them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from gx_runner.graphs.user import User

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

# The parameter that follows a part of a path, and the words that stand there and are no parameter.
_PARAMETERS = {
    "threads": ("thread_id", {"search", "count", "prune"}),
    "assistants": ("assistant_id", {"search", "count"}),
    "runs": ("run_id", {"wait", "stream", "batch", "cancel", "crons"}),
    "crons": ("cron_id", {"search", "count"}),
    "state": ("checkpoint_id", {"checkpoint"}),
    "subgraphs": ("namespace", set[str]()),
}


def build_scope(head: dict[str, Any]) -> Scope:
    """Returns the scope of a request, by its method, its whole address and its headers."""
    url = urlsplit(head["url"])
    path = url.path or "/"
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": head["method"],
        "scheme": url.scheme,
        "path": unquote(path),
        "raw_path": path.encode("latin-1", "replace"),
        "query_string": url.query.encode("latin-1", "replace"),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in head["headers"]],
        "client": None,
        "server": (url.hostname or "localhost", url.port or 80),
        "path_params": parse_path_parameters(path),
    }


def parse_path_parameters(path: str) -> dict[str, str]:
    """Returns the ids in the path of a built-in route."""
    parts = [unquote(part) for part in path.split("/") if part]
    found: dict[str, str] = {}
    for part, after in itertools.pairwise(parts):
        name, words = _PARAMETERS.get(part, ("", set[str]()))
        if name and after not in words:
            found[name] = after
    return found


class _Credentials:
    """The permissions of a user, for applications without starlette."""

    def __init__(self, scopes: list[str]) -> None:
        self.scopes = scopes


def add_user(scope: Scope, user: dict[str, Any] | None) -> Scope:
    """Returns the scope with its user, whom `request.user` and `request.auth` of starlette show."""
    if user is None:
        return scope
    known = User(user)
    module = sys.modules.get("starlette.authentication")
    credentials = _Credentials if module is None else module.AuthCredentials
    return {**scope, "user": known, "auth": credentials(list(known.permissions))}
