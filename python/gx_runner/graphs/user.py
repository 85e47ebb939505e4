"""The user who made a request, as graphs see one in `langgraph_auth_user`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class User(dict[str, Any]):
    """The user's fields, which are items and attributes. It is stored and shown as the plain object that it is."""

    @property
    def identity(self) -> str:
        """Returns the id of the user."""
        return str(self["identity"])

    @property
    def display_name(self) -> str:
        """Returns the name of the user."""
        return str(self.get("display_name") or self.identity)

    @property
    def is_authenticated(self) -> bool:
        """Returns whether the user has proved who they are."""
        return bool(self.get("is_authenticated", True))

    @property
    def permissions(self) -> Sequence[str]:
        """Returns what the user may do."""
        return list(self.get("permissions") or [])

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"The user has no field {name!r}.") from None


def wrap_user(configurable: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings with the user as an object."""
    user = configurable.get("langgraph_auth_user")
    return {**configurable, "langgraph_auth_user": User(user)} if isinstance(user, dict) else configurable
