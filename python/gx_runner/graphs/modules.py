"""Imports the user's files and modules, and says where in them something failed."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import sys
import traceback
from types import ModuleType
from typing import Any

import gx_runner

_OURS = os.path.join(os.path.dirname(gx_runner.__file__), "")
"""The folder of the runner's own modules."""


class LoadError(Exception):
    """A part of the user's code can not be loaded; the sentence is for a person."""


def add_import_folders() -> None:
    """Puts the folders of `dependencies` behind all others, as they stand in an image. The server names them."""
    for folder in filter(None, os.environ.get("GX_IMPORT_FOLDERS", "").split(os.pathsep)):
        if folder not in sys.path:
            sys.path.append(folder)


def import_attribute(what: str, file: str, name: str) -> Any:
    """Returns a variable of a file or a module. `what` is the part that it is for, and begins the sentence of a fault."""
    try:
        module = import_file(file)
    except BaseException as error:
        raise LoadError(f"{what}: {explain_import_error(error, file)}") from error
    if not hasattr(module, name):
        raise LoadError(f'{what}: {file} has no variable named "{name}".')
    return getattr(module, name)


def import_file(path: str) -> ModuleType:
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


def explain_import_error(error: BaseException, file: str) -> str:
    """Returns one line that says why a file or a module is not imported, and where in the user's code it failed."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno}: SyntaxError: {error.msg}"
    text = describe_error(error)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_of_the_import(frame.filename)]
    # A library that fails was called by a line of the user, who can mend that.
    own = [frame for frame in frames if not is_of_a_library(frame.filename)] or frames
    return f"{own[-1].filename}:{own[-1].lineno}: {text}" if own else f"{file} can't be loaded: {text}"


def describe_error(error: BaseException) -> str:
    """Returns one line with the name and the message of an error, and which LangGraph lacks what it is about."""
    return re.sub(r"\s+", " ", f"{type(error).__name__}: {error}") + _describe_older_langgraph(error)


def describe_failed_import(error: BaseException) -> str:
    """Returns one line with an error that a package raised, and the file and line where."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    return f"{frames[-1].filename}:{frames[-1].lineno}: {describe_error(error)}"


def _describe_older_langgraph(error: BaseException) -> str:
    """Returns which LangGraph is installed, where an error is about a part of it that it does not have."""
    if not _is_about_langgraph(error):
        return ""
    try:
        version = importlib.metadata.version("langgraph")
    except importlib.metadata.PackageNotFoundError:
        return ""
    return f" (LangGraph {version} is installed; the code may need a newer one)"


def _is_about_langgraph(error: BaseException) -> bool:
    if isinstance(error, ImportError):
        return _is_of_langgraph(error.name)
    if isinstance(error, AttributeError):
        place = "__name__" if isinstance(error.obj, ModuleType) else "__module__"
        return _is_of_langgraph(getattr(error.obj, place, None))
    if not isinstance(error, TypeError):
        return False
    called = re.match(r"(\w+)\S*\(\) got an unexpected keyword argument", str(error))
    if called is None:
        return False
    own = [module for name, module in list(sys.modules.items()) if module is not None and _is_of_langgraph(name)]
    return any(called[1] in vars(module) for module in own)


def _is_of_langgraph(module: Any) -> bool:
    return isinstance(module, str) and module.split(".")[0] == "langgraph"


def find_assignment(file: str, name: str) -> str:
    """Returns the file and the line where a module gives a variable its value; where no line does so, the file alone."""
    module = os.path.basename(file)
    path = file if os.path.isfile(file) else getattr(sys.modules.get(module), "__file__", None) or file
    try:
        with open(path, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return path
    lines = [node.lineno for node in _list_statements(tree.body) if name in _list_assigned_names(node)]
    return f"{path}:{lines[-1]}" if lines else path


def _list_statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Returns the statements of a module, with those in its conditions, and without those of its functions and classes."""
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            parts = [getattr(node, part, []) for part in ("body", "orelse", "finalbody")]
            handlers = [handler.body for handler in getattr(node, "handlers", [])]
            found += [one for part in [*parts, *handlers] for one in _list_statements(part)]
    return found


def _list_assigned_names(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {one.asname or one.name.split(".")[0] for one in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}


def find_user_place(frames: traceback.StackSummary) -> str | None:
    """Returns the innermost file and line of the user's code, also where a library is at work for it."""
    own = [one for one in frames if is_own(one.filename)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else None


def is_own(filename: str) -> bool:
    """Returns whether a file is the user's own code. Libraries run texts, too, such as `<string>`, which are no files."""
    return not filename.startswith("<") and not _is_of_the_import(filename) and not is_of_a_library(filename)


def is_of_a_library(filename: str) -> bool:
    """Returns whether a file belongs to an installed package or to Python itself."""
    return "site-packages" in filename or "dist-packages" in filename or filename.startswith(os.path.dirname(os.__file__))


def is_of_ours(filename: str) -> bool:
    """Returns whether a file belongs to this runner."""
    return filename.startswith(_OURS)


def _is_of_the_import(filename: str) -> bool:
    return filename.startswith("<frozen") or is_of_ours(filename) or "importlib" in filename
