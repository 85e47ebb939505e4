"""Transports of httpx that ask the server of the graphs without the network. It is imported by those who need httpx."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from gx_runner.wall.exchange import BrokenOffError, Exchange, Exchanges, Head


class ServerTransport(httpx.AsyncBaseTransport):
    """For clients that await."""

    def __init__(self, exchanges: Exchanges) -> None:
        self._exchanges = exchanges

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends the request, and returns its answer, whose body is still to be read."""
        asked = _send_request(self._exchanges, request, await request.aread())
        seconds = _read_timeout(request)
        try:
            async with asyncio.timeout(seconds):
                head = await asyncio.wrap_future(asked.head)
        except TimeoutError:
            asked.leave()
            raise _build_timeout(request, seconds) from None
        except BaseException:
            asked.leave()
            raise
        return _build_response(request, head, _Body(asked, request, seconds))


class SyncServerTransport(httpx.BaseTransport):
    """For clients that do not await. They block their thread, so a node that uses one is a plain function."""

    def __init__(self, exchanges: Exchanges) -> None:
        self._exchanges = exchanges

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Does the same."""
        asked = _send_request(self._exchanges, request, request.read())
        seconds = _read_timeout(request)
        try:
            head = asked.head.result(seconds)
        except TimeoutError:
            asked.leave()
            raise _build_timeout(request, seconds) from None
        except BaseException:
            asked.leave()
            raise
        return _build_response(request, head, _Body(asked, request, seconds))


class _Body(httpx.AsyncByteStream, httpx.SyncByteStream):
    """The body of an answer, piece by piece. To leave it early is to want no more."""

    def __init__(self, asked: Exchange, request: httpx.Request, seconds: float | None) -> None:
        self._asked = asked
        self._request = request
        self._seconds = seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self._read_next():
            yield piece

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._read_next_now():
            yield piece

    async def aclose(self) -> None:
        self._asked.leave()

    def close(self) -> None:
        self._asked.leave()

    async def _read_next(self) -> bytes:
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(self._asked.take())
        except TimeoutError:
            raise _build_timeout(self._request, self._seconds) from None
        except BrokenOffError as error:
            raise httpx.ReadError(str(error), request=self._request) from None

    def _read_next_now(self) -> bytes:
        try:
            return self._asked.take().result(self._seconds)
        except TimeoutError:
            raise _build_timeout(self._request, self._seconds) from None
        except BrokenOffError as error:
            raise httpx.ReadError(str(error), request=self._request) from None


def _send_request(exchanges: Exchanges, request: httpx.Request, body: bytes) -> Exchange:
    # The host is that of the server: there is no other.
    headers = [(name, value) for name, value in request.headers.multi_items() if name != "host"]
    return exchanges.ask(request.method, str(request.url), headers, body)


def _read_timeout(request: httpx.Request) -> float | None:
    """Returns for how many seconds the client waits for the next part of an answer."""
    timeouts: dict[str, Any] = request.extensions.get("timeout", {})
    return timeouts.get("read")


def _build_timeout(request: httpx.Request, seconds: float | None) -> httpx.ReadTimeout:
    return httpx.ReadTimeout(f"The server has sent nothing for {seconds} seconds.", request=request)


def _build_response(request: httpx.Request, head: Head, body: _Body) -> httpx.Response:
    return httpx.Response(head.status, headers=head.headers, stream=body, request=request)
