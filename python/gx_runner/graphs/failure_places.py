"""Where a run has failed: its node, its file and line, and its stack, for the log."""

from __future__ import annotations

import re
import traceback
from typing import Any

from gx_runner.graphs.modules import is_of_ours, is_own
from gx_runner.wall.failures import build_failure

# Frames of a stack that are reported: a recursion without an end has a thousand.
_MOST_FRAMES = 30
# Errors below one that are reported.
_MOST_CAUSES = 5
# The note that LangGraph adds to an error that leaves a node.
_NOTE = re.compile(r"During task with name '(.*)' and id '")


def build_failed_outcome(error: BaseException) -> dict[str, Any]:
    """Returns the outcome of a run that has raised."""
    return {"status": "error", "waiting": False, "error": build_failure(error), "failure": _find_place(error)}


def _find_place(error: BaseException) -> dict[str, Any]:
    """Returns the place in the user's code, and the frames of the stack, the user's own and innermost ones first."""
    causes = _list_causes(error)
    frames = [frame for frame in _list_frames(error) if not is_of_ours(frame.filename)]
    own = [frame for frame in frames if is_own(frame.filename)]
    others = [frame for frame in frames if not is_own(frame.filename)]
    shown = [*reversed(own), *reversed(others)][:_MOST_FRAMES]
    # A library may wrap the error of the user's code.
    below = [frame for cause in causes for frame in _list_frames(cause) if is_own(frame.filename)]
    first = own[-1] if own else below[-1] if below else None
    return {
        **({"node": node} if (node := _find_node(error)) else {}),
        **({"at": f"{first.filename}:{first.lineno}"} if first else {}),
        **({"stack": "".join(traceback.format_list(shown)).rstrip()} if shown else {}),
        "causes": [build_failure(cause) for cause in causes],
    }


def _list_frames(error: BaseException) -> traceback.StackSummary:
    return traceback.extract_tb(error.__traceback__)


def _find_node(error: BaseException) -> str | None:
    """Returns the node of the graph itself: that of a graph within it is noted before."""
    found = [_NOTE.match(note) for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    names = [match[1] for match in found if match]
    return names[-1] if names else None


def _list_causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    waiting = _list_direct_causes(error)
    while waiting and len(found) < _MOST_CAUSES:
        if (cause := waiting.pop(0)) is not error and cause not in found:
            found.append(cause)
            waiting += _list_direct_causes(cause)
    return found


def _list_direct_causes(error: BaseException) -> list[BaseException]:
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    group = list(error.exceptions) if isinstance(error, BaseExceptionGroup) else []
    return ([cause] if cause else []) + group
