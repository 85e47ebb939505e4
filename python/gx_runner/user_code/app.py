"""The application of `http.app`: any ASGI application, and what only those of starlette say of themselves."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import sys
from collections.abc import Callable
from typing import Any

import orjson

from gx_runner.graphs.modules import LoadError
from gx_runner.user_code.asgi import AppServer
from gx_runner.user_code.requests import Receive, Scope, Send, build_scope

Json = dict[str, Any]
Call = Callable[[Scope, Receive, Send], Any]

# These are served by the server itself, whatever the application registers.
_NEVER_REACHED = ("/ok", "/metrics", "/docs", "/openapi.json")
# The methods of a route that takes all of them, as far as clients use them for data.
_METHODS = ("get", "post", "put", "patch", "delete")
_log = logging.getLogger("gx_runner")


class App:
    """An application as requests call it. `facts` are its routes for the server, as far as it knows them."""

    def __init__(self, call: Call, facts: Json) -> None:
        self.call = call
        self.facts = facts

    async def read_document(self) -> Json | None:
        """Returns how the application describes itself at /openapi.json; None where it does not."""
        heard: list[Json] = []

        async def send(message: Json) -> None:
            heard.append(message)

        scope = build_scope({"method": "GET", "url": "http://localhost/openapi.json", "headers": []})
        await self.call(scope, _receive_nothing, send)
        body = b"".join(message.get("body", b"") for message in heard[1:])
        if not heard or heard[0].get("status") != 200:
            return None
        document = orjson.loads(body)
        return document if isinstance(document, dict) and "paths" in document else None


def build_app(exported: Any, at: str, server: AppServer, *, guarded: bool) -> App:
    """Returns the application. Raises `LoadError` when it is none."""
    if not callable(exported) or inspect.isclass(exported) or not _is_asgi_callable(exported):
        raise LoadError(f"http.app: {at} is not an ASGI application: it does not take scope, receive and send.")
    if not _is_of_starlette(exported):
        return App(_wrap_app(exported, server), {"sockets": True})
    routes = exported.router.routes
    app = _Starlette(exported, _read_facts(exported))
    exported.router.default = server.pass_to_server
    routes.append(_build_server_route(routes[:], server))
    # Where only the application knows its routes, the server asks who calls before it asks the application.
    if guarded and "routes" in app.facts:
        exported.router = _GuardedRouter(exported.router, server)
        exported.middleware_stack = None
    return app


async def _receive_nothing() -> Json:
    return {"type": "http.request", "body": b"", "more_body": False}


def _is_asgi_callable(app: Any) -> bool:
    try:
        inspect.signature(app).bind(None, None, None)
    except (TypeError, ValueError):
        return False
    return True


def _is_of_starlette(app: Any) -> bool:
    module = sys.modules.get("starlette.applications")
    return module is not None and isinstance(app, module.Starlette)


def _wrap_app(app: Call, server: AppServer) -> Call:
    """Returns an application whose 404, before it has read the body, leaves the request to the server's own routes."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        is_missing = False
        served = server.find_request(scope)

        async def send_on(message: Json) -> None:
            nonlocal is_missing
            if served is not None and message["type"] == "http.response.start":
                is_missing = message["status"] == 404 and not served.is_read
            if not is_missing:
                await send(message)

        await app(scope, receive, send_on)
        if is_missing:
            await server.pass_to_server(scope, receive, send)

    return call


class _Starlette(App):
    """An application of starlette, such as one of FastAPI."""

    def __init__(self, app: Any, facts: Json) -> None:
        super().__init__(app, facts)
        self._app = app
        self._described = _build_document(app.router.routes)

    async def read_document(self) -> Json | None:
        """Returns how the application describes itself, or else no more than its routes."""
        if callable(make := getattr(self._app, "openapi", None)):
            document: Json = await asyncio.to_thread(make)
            return document
        return await super().read_document() or self._described


def _read_facts(app: Any) -> Json:
    """Returns which requests concern the application; nothing where only it knows. Middleware is for all of them."""
    routes: list[Json] = [{"method": "ALL", "pattern": "^", "serves": False}] if app.user_middleware else []
    known = _list_routes(app.router.routes)
    for route in known:
        if (regex := getattr(route, "path_regex", None)) is None:
            return {"sockets": True}
        if _is_socket(route):
            routes.append({"method": "WEBSOCKET", "pattern": _convert_pattern(regex.pattern), "serves": True})
            continue
        methods = sorted(set(getattr(route, "methods", None) or ["ALL"]) - {"HEAD"})
        routes += [{"method": method, "pattern": _convert_pattern(regex.pattern), "serves": True} for method in methods]
    # Files of a frontend are looked for where no other route is found.
    is_known = not getattr(app.router, "_low_priority_routes", None)
    # What is mounted may have some, and its requests are of any method.
    has_sockets = any(route["serves"] and route["method"] in ("ALL", "WEBSOCKET") for route in routes)
    return {"sockets": has_sockets, **({"routes": routes} if is_known else {})}


def _list_routes(routes: list[Any]) -> list[Any]:
    """Returns the routes, and in the place of a router that FastAPI has included those of the router."""
    make = getattr(sys.modules.get("fastapi.routing"), "iter_route_contexts", None)
    return list(routes) if make is None else list(make(routes))


def _is_socket(route: Any) -> bool:
    return "WebSocket" in type(getattr(route, "original_route", route)).__name__


class _GuardedRouter:
    """A router whose routes ask the server who calls."""

    def __init__(self, router: Any, server: AppServer) -> None:
        self._router = router
        self._guarded = server.wrap_authenticated(router)
        self._own = router.routes[:-1]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._guarded if self._has(scope) else self._router)(scope, receive, send)

    def _has(self, scope: Scope) -> bool:
        from starlette.routing import Match

        return scope["type"] == "http" and any(route.matches(scope)[0] == Match.FULL for route in self._own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._router, name)


def _convert_pattern(pattern: str) -> str:
    """Returns the pattern as JavaScript reads it. An application redirects a path with one slash more or less."""
    mount = "/(?P<path>.*)$"
    if pattern.endswith(mount):
        rest = f"{pattern.removesuffix(mount)}(?:/.*)?$"
    else:
        rest = f"{pattern.removesuffix('$').removesuffix('/')}/?$"
    return re.sub(r"\(\?P<[^>]*>", "(?:", rest)


def _build_server_route(own: list[Any], server: AppServer) -> Any:
    """Returns a route for the requests whose path is one of the application's, and whose method is the server's."""
    from starlette.routing import BaseRoute, Match, NoMatchFound

    class Theirs(BaseRoute):
        def matches(self, scope: Any) -> Any:
            is_near = scope["type"] == "http" and any(route.matches(scope)[0] == Match.PARTIAL for route in own)
            return Match.FULL if is_near else Match.NONE, {}

        def url_path_for(self, name: str, /, **path_params: Any) -> Any:
            raise NoMatchFound(name, path_params)

        async def handle(self, scope: Any, receive: Any, send: Any) -> None:
            await server.pass_to_server(scope, receive, send)

    return Theirs()


def _build_document(routes: list[Any]) -> Json | None:
    """Returns an OpenAPI document with the methods and paths of the routes; None when there are none."""
    paths: dict[str, Json] = {}
    for route in _list_routes(routes):
        convertors = getattr(route, "param_convertors", {})
        path = re.sub(r"\{(\w+)(?::\w+)?\}", r"{\1}", getattr(route, "path", None) or "")
        is_shown = getattr(route, "include_in_schema", False) and not _is_socket(route)
        if path in ("", *_NEVER_REACHED) or not is_shown:
            continue
        names = re.findall(r"\{(\w+)\}", path)
        parameters = [_build_parameter(name, convertors[name].regex) for name in names]
        given = {method.lower() for method in route.methods or _METHODS}
        for method in [*(one for one in _METHODS if one in given), *sorted(given - {*_METHODS, "head"})]:
            paths.setdefault(path, {})[method] = {
                "summary": "A route of http.app",
                "tags": ["http.app"],
                **({"parameters": parameters} if parameters else {}),
                "responses": {"default": {"description": "The answer of http.app."}},
            }
    return {"paths": paths} if paths else None


def _build_parameter(name: str, regex: str) -> Json:
    pattern = {} if regex in ("[^/]+", ".*") else {"pattern": regex}
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", **pattern}}
