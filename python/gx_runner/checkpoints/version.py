"""Versions of channels."""

from __future__ import annotations

import random
import string

_CHARACTERS = string.ascii_lowercase + string.digits


def build_next_version(current: str | None) -> str:
    """Returns a version that sorts behind the former one as text. Two checkpoints share none by accident."""
    number = int(str(current).split(".")[0]) + 1 if current is not None else 1
    return f"{number:010}.{''.join(random.choices(_CHARACTERS, k=10))}"
