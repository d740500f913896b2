"""Code that may act outside of its notebook: write files, send, start processes, ask people.

It is recognized by names, in it and in the user's functions that it names, and rather once too
often: the user is then asked before it runs without having been asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType

from nbckpt.fingerprint.code import nodes_of

_CALLS = frozenset(
    {
        "write", "writelines", "write_text", "write_bytes", "mkdir", "makedirs", "unlink", "remove",
        "rename", "replace_file", "rmtree", "rmdir", "touch", "symlink_to", "chmod", "move",
        "copy2", "copyfile", "copytree", "savefig", "save", "savez", "savetxt", "dump",
        "imsave", "imwrite",
        "to_csv", "to_parquet", "to_sql", "to_excel", "to_json", "to_pickle", "to_feather",
        "to_hdf", "to_file", "write_csv", "write_parquet", "write_table", "sink_parquet",
        "post", "put", "patch", "delete", "request", "urlopen", "urlretrieve", "send", "sendall",
        "send_message", "sendmail", "upload", "upload_file", "publish", "commit", "push",
        "system", "popen", "Popen", "run", "call", "check_call", "check_output", "execv", "fork",
        "kill", "spawn", "getoutput", "create_subprocess_exec", "create_subprocess_shell",
        "input", "approve", "run_line_magic", "run_cell_magic", "copy_file", "execute_script",
    }
)  # fmt: skip
"""Names of functions and methods that act outside, of whatever library."""

_HARMLESS_MAGICS = frozenset(
    {"matplotlib", "time", "timeit", "config", "load_ext", "precision", "pylab", "capture"}
)

_MODULES = frozenset({"subprocess", "smtplib", "shutil", "ftplib", "paramiko", "boto3", "socket"})

_DEPTH = 5


def effect_of(tree: ast.Module, namespace: Mapping[str, object]) -> str:
    """The first effect of some code that may be outside, for people; empty if none is known."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Call):
            if effect := _effect_of_call(node, namespace):
                return effect
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
    return ""


def _effect_of_call(call: ast.Call, namespace: Mapping[str, object]) -> str:
    function = call.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    root = function
    while isinstance(root, ast.Attribute):
        root = root.value
    if name in ("run_line_magic", "run_cell_magic") and _is_harmless_magic(call):
        return ""
    if name in _CALLS or (isinstance(root, ast.Name) and root.id in _MODULES):
        return f"{ast.unparse(function)}()"
    if name == "open" and _may_write(call):
        return ast.unparse(call)
    called = namespace.get(function.id) if isinstance(function, ast.Name) else None
    if isinstance(called, FunctionType):
        acting = sorted(_CALLS & set(_names_in(called, namespace, _DEPTH)))
        return f"{acting[0]}() in {name}()" if acting else ""
    return ""


def _is_harmless_magic(call: ast.Call) -> bool:
    name = call.args[0] if call.args else None
    return isinstance(name, ast.Constant) and name.value in _HARMLESS_MAGICS


def _may_write(call: ast.Call) -> bool:
    modes = [k.value for k in call.keywords if k.arg == "mode"]
    modes += call.args[1:2] if isinstance(call.func, ast.Name) else call.args[:1]
    for mode in modes:
        if not isinstance(mode, ast.Constant):
            return True
        if isinstance(mode.value, str) and set("wax+") & set(mode.value):
            return True
    return False


def _names_in(function: FunctionType, namespace: Mapping[str, object], depth: int) -> Iterator[str]:
    if function.__globals__ is not namespace:
        return  # a library's: it is known by its own name, or it is not known
    waiting: list[CodeType] = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield from code.co_names
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]
        for name in code.co_names if depth else ():
            other = namespace.get(name)
            if isinstance(other, FunctionType) and other is not function:
                yield from _names_in(other, namespace, depth - 1)
