"""Lets clients of langgraph_sdk that name no address ask the server of their graph, as they would in any such server.

`get_client` takes its transport from a package of the name `langgraph_api`, which is the server's own. Two of its modules
stand here in its place, also where that package is installed: it would be a second server. `get_sync_client` looks for
none, so that it is replaced.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from gx_runner.graphs.compat import replace_sync_client
from gx_runner.wall.exchange import Exchanges

_PACKAGE = "langgraph_api"
# The address that langgraph_sdk gives such a client; no server is looked for there.
_ADDRESS = "http://api"


def install_loopback(exchanges: Exchanges) -> None:
    """Does so for all modules that are imported from now on."""
    sys.meta_path.insert(0, _Modules(exchanges))
    replace_sync_client(lambda original: _wrap_sync_client(original, exchanges))


class _Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the modules when they are first imported: httpx takes a while, and not every graph needs it."""

    def __init__(self, exchanges: Exchanges) -> None:
        self._exchanges = exchanges
        self._fill: dict[str, Callable[[ModuleType], None]] = {
            _PACKAGE: lambda _: None,
            f"{_PACKAGE}.server": self._add_server,
            f"{_PACKAGE}.asgi_transport": self._add_transport,
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns how a module of the package is made; None for all other modules."""
        if fullname.split(".")[0] != _PACKAGE:
            return None
        if fullname not in self._fill:
            offered = " and ".join(name for name in self._fill if name != _PACKAGE)
            raise ImportError(f"This server has no module {fullname}: it offers {offered} to langgraph_sdk.", name=fullname)
        return importlib.util.spec_from_loader(fullname, self, is_package=fullname == _PACKAGE)

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its names."""
        self._fill[module.__name__](module)

    def _add_server(self, module: ModuleType) -> None:
        # langgraph_sdk hands it to the transport, which needs none.
        module.__dict__["app"] = None

    def _add_transport(self, module: ModuleType) -> None:
        from gx_runner.graphs.transport import ServerTransport

        exchanges = self._exchanges

        class ASGITransport(ServerTransport):
            """Is made with an application and a path, neither of which matters here."""

            def __init__(self, app: Any = None, **_: Any) -> None:
                super().__init__(exchanges)

        module.__dict__["ASGITransport"] = ASGITransport


def _wrap_sync_client(original: Callable[..., Any], exchanges: Exchanges) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_sync_client(*, url: str | None = None, **options: Any) -> Any:
        made = original(url=_ADDRESS if url is None else url, **options)
        if url is not None:
            return made
        import httpx

        from gx_runner.graphs.transport import SyncServerTransport

        network = made.http.client
        network.close()
        about = {"base_url": network.base_url, "headers": network.headers, "timeout": network.timeout}
        return type(made)(httpx.Client(transport=SyncServerTransport(exchanges), **about))

    return get_sync_client
