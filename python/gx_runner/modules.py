"""Imports the user's files and modules, and says where in them something failed."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import re
import sys
import traceback
from types import ModuleType
from typing import Any


class LoadError(Exception):
    """A part of the user's code can not be loaded; the sentence is for a person."""


def loaded_attribute(what: str, file: str, name: str) -> Any:
    """Returns a variable of a file or a module. `what` is the part that it is for, and begins the sentence of a fault."""
    try:
        module = imported(file)
    except BaseException as error:
        raise LoadError(f"{what}: {sentence_of(error, file)}") from error
    if not hasattr(module, name):
        raise LoadError(f'{what}: {file} has no variable named "{name}".')
    return getattr(module, name)


def imported(path: str) -> ModuleType:
    """Imports a file, or a module: its dotted name stands in the place of the file, in the folder of gx.json."""
    folder, name = os.path.split(path)
    if folder not in sys.path:
        sys.path.append(folder)
    if not os.path.isfile(path):
        return importlib.import_module(name)
    full = re.sub(r"\.py$", "", path).strip("/").replace("/", "__").replace(".", "_")
    if full in sys.modules:
        return sys.modules[full]
    loader = importlib.machinery.SourceFileLoader(full, path)
    spec = importlib.util.spec_from_loader(full, loader)
    if spec is None:
        raise ImportError(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    # Pickles and annotations of the module look for it there.
    sys.modules[full] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[full]
        raise
    return module


def sentence_of(error: BaseException, file: str) -> str:
    """Returns one line that says why a file or a module is not imported, and where in the user's code it failed."""
    text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno}: SyntaxError: {error.msg}"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_of_the_import(frame.filename)]
    return f"{own[-1].filename}:{own[-1].lineno}: {text}" if own else f"{file} can't be loaded: {text}"


def own_place(frames: traceback.StackSummary) -> str | None:
    """Returns the innermost file and line of the user's code, also where a library is at work for it."""
    own = [one for one in frames if is_own(one.filename)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else None


def is_own(filename: str) -> bool:
    """Returns whether a file is the user's own code."""
    return not _is_of_the_import(filename) and not is_of_a_library(filename)


def is_of_a_library(filename: str) -> bool:
    """Returns whether a file belongs to an installed package or to Python itself."""
    return "site-packages" in filename or filename.startswith(os.path.dirname(os.__file__))


def _is_of_the_import(filename: str) -> bool:
    return (
        filename.startswith("<frozen") or os.path.dirname(filename) == os.path.dirname(__file__) or "importlib" in filename
    )
