"""Imports the modules of graphs once and runs no graph: `python -m gx_runner.trial file ...` in the folder of gx.json.

The answer is a list of sentences about those that no setting can help. It needs no package of LangGraph.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys

from gx_runner.graphs.modules import add_import_folders, explain_import_error, import_file, is_of_a_library


def list_faults(files: list[str]) -> list[str]:
    """Imports files and modules as a server does, and returns a sentence for each that can never be loaded."""
    return [fault for file in files if (fault := _find_fault(file)) is not None]


def _find_fault(file: str) -> str | None:
    if os.path.isabs(file) and not os.path.isfile(file):
        return f"{file} is not there."
    try:
        import_file(file)
    except BaseException as error:
        return explain_import_error(error, file) if _can_never_load(error) else None
    return None


def _can_never_load(error: BaseException) -> bool:
    """Settings may change all else, and the base image may have packages that are missing here."""
    if isinstance(error, SyntaxError):
        # Text that a module itself parses has no file.
        return error.filename is not None and os.path.isfile(error.filename)
    if isinstance(error, ModuleNotFoundError):
        return error.name is not None and "." in error.name and _is_own(error.name.split(".")[0])
    # A file that gx.json names is no part of a package.
    return isinstance(error, ImportError) and str(error).startswith("attempted relative import")


def _is_own(package: str) -> bool:
    """Returns whether a package lies in the project, so that a module which it lacks is in no other place."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return False
    places = spec.submodule_search_locations or [spec.origin or ""]
    return all(os.path.isabs(place) and not is_of_a_library(place) for place in places)


def main() -> None:
    """Prints the answer as JSON. What modules print goes elsewhere, and threads that they leave behind end."""
    answer = os.dup(1)
    os.dup2(2, 1)
    add_import_folders()
    os.write(answer, json.dumps(list_faults(sys.argv[1:])).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
