"""Process state that a step can depend on: a display option changes shown tables, not a sum."""

from __future__ import annotations

import ast
import dis
import functools
import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.capture.observation.process_state.kinds import Kind
from nbckpt.fingerprint.values.homes import module_of_class

_PLOTTING = ("plt", "pyplot", "mpl", "matplotlib", "pylab", "rcParams")
_SWITCHES = frozenset({"context", "interactive", "ioff", "ion", "is_interactive", "isinteractive"})
"""Functions of matplotlib that switch drawing on and off, or ask for it."""


WORDS: Mapping[str, re.Pattern[str]] = {
    "text": re.compile(
        r"""^(str|repr|ascii|format|format_map|print|pprint|pformat|display|write|writelines|info
        |dedent|fill|render|tabulate|prettify|summary|describe|head|tail|style|options?|mode|sql
        |__\w*str__|__repr__|__format__|__fstring__)$
        | str(ing)?$ | ^str_ | repr | format | print | to_(str|html|markdown|latex|text|clipboard)
        | report | message | prompt | html | markdown | latex | log | show | text | option
        | precision""",
        re.VERBOSE | re.IGNORECASE,
    ),
    "drawing": re.compile(
        r"""plt | plot | (?<!con)fig | \b_?ax(is|es)? | draw | hist | scatter | chart | heatmap
        | contour | imshow
        | matplotlib | mpl | pylab | seaborn | sns | rc ?params | style | theme | palette | cmap
        | colormap | color | savefig | graph | visuali | display | image | picture | canvas | tree
        | show | sketch | bar$ | pie$ | ^rc | backend | explain | diagram""",
        re.VERBOSE | re.IGNORECASE,
    ),
    "interactivity": re.compile(
        r"^(ioff|is_?interactive|set_interactive|rc_context|xkcd|axes_style|plotting_context)$"
    ),
    "logging": re.compile(
        r"""log | level | handler | verbos | debug
        | ^(info|warn|warning|error|exception|critical|fatal|isEnabledFor)$""",
        re.VERBOSE | re.IGNORECASE,
    ),
    "warnings": re.compile(r"warn | filter | deprecat", re.VERBOSE | re.IGNORECASE),
    "imports": re.compile(
        r"""^__import__$ | import | load | reload | pickle | run | module | plugin | entry | path
        | sys | require | execute | process | python | worker | pool | parallel | distribut""",
        re.VERBOSE | re.IGNORECASE,
    ),
    "arguments": re.compile(
        r"""arg | parse | flag | \bopts? | option | cli(ck)?\b | fire | typer | hydra | absl | main
        | run""",
        re.VERBOSE | re.IGNORECASE,
    ),
    "magics": re.compile(r"run_(line|cell)_magic | ^system$ | getoutput | ^magic$", re.VERBOSE),
    "expressions": re.compile(r"^__expression__$"),
    "signals": re.compile(r"signal | alarm | kill | timer | handler", re.VERBOSE | re.IGNORECASE),
}
"""State → words in the code of steps that can depend on it; a false match only makes a step run."""

_TOGETHER = (
    *(frozenset({word, module}) for word in ("ion", "interactive") for module in _PLOTTING),
    frozenset({"style", "context"}),
    frozenset({"run_line_magic", "matplotlib"}),
)
"""Words that say so together: alone they are the names of much else."""

SHOWN = frozenset({"text", "logging", "warnings", "expressions"})
"""State that a step that showed something can depend on."""

_DEPTH = 5
_TYPES = {
    "matplotlib": "drawing",
    "seaborn": "drawing",
    "plotnine": "drawing",
    "logging": "logging",
    "signal": "signals",
}
_OF_LIBRARIES = ("site-packages", "dist-packages", sys.base_prefix, "<frozen")


_IDLE = (
    *(ast.Module, ast.Assign, ast.AnnAssign, ast.Expr, ast.Pass, ast.Name, ast.Constant),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set, ast.expr_context, ast.BinOp, ast.operator),
    *(ast.UnaryOp, ast.unaryop, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.JoinedStr),
    *(ast.FormattedValue, ast.FunctionDef, ast.arguments, ast.arg, ast.Return),
)


def can_act(tree: ast.Module) -> bool:
    """True if code calls something, or sets what is not a variable."""
    return any(
        not isinstance(node, _IDLE) or getattr(node, "decorator_list", ())
        for node in _nodes_of(tree)
    )


def reach_of(
    tree: ast.Module, namespace: Mapping[str, object], *, is_shown: bool
) -> frozenset[str]:
    """State that a step's code, with the user's functions that it can call, can depend on."""
    found = set(SHOWN if is_shown else ())
    found.update(_of_values(tree, namespace))
    words = words_of(tree, namespace)
    for name in words:
        found.update(_of_word(name))
        if "logging" not in found and _logs(namespace.get(name)):
            found.add("logging")
        if len(found) == len(WORDS):
            break
    if any(words >= pair for pair in _TOGETHER):
        found.add("interactivity")
    return frozenset(found)


def words_of(tree: ast.Module, namespace: Mapping[str, object]) -> frozenset[str]:
    """Names and short strings of some code and of the user's functions that it can call."""
    found: set[str] = set()
    for node in _nodes_of(tree):
        found.update(_of_node(node))
    seen: set[CodeType] = set()
    for node in _nodes_of(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            for code in _codes(_resolved(node, namespace), seen, _DEPTH):
                found |= _of_code(code)
    return frozenset(found)


def strings_of(tree: ast.Module, namespace: Mapping[str, object]) -> frozenset[str]:
    """Strings in some code, in what it names, and in the user's functions that it can call."""
    found: set[str] = set()
    seen: set[CodeType] = set()
    for node in _nodes_of(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.Name | ast.Attribute):
            value = _resolved(node, namespace)
            if type(value) is str:
                found.add(value)
            for code in _codes(value, seen, _DEPTH):
                found.update(c for p in _parts(code) for c in p.co_consts if type(c) is str)
    return frozenset(found)


def _nodes_of(tree: ast.Module) -> Iterable[ast.AST]:
    from nbckpt.fingerprint.code import nodes_of  # no resume needs it

    return nodes_of(tree)


def _of_node(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            yield name
        case ast.alias(name=name):
            yield from name.split(".")
        case ast.Import() | ast.ImportFrom():
            yield "__import__"
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield "__expression__"
        case ast.JoinedStr():
            yield "__fstring__"
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
            yield "__fstring__"
        case ast.Constant(value=str(text)) if len(text) < _LONGEST:
            yield text


_LONGEST = 100


@functools.lru_cache(maxsize=4096)
def _of_word(word: str) -> tuple[str, ...]:
    return tuple(kind for kind, pattern in WORDS.items() if pattern.search(word))


def _of_values(tree: ast.Module, namespace: Mapping[str, object]) -> Iterator[str]:
    for node in _nodes_of(tree):
        if isinstance(node, ast.Name) and node.id in namespace:
            home = str(getattr(type(namespace[node.id]), "__module__", "")).partition(".")[0]
            if home in _TYPES:
                yield _TYPES[home]
        if isinstance(node, ast.Name | ast.Attribute):
            function = _resolved(node, namespace)
            if type(function) is FunctionType and function.__name__ in _SWITCHES:
                yield from ("interactivity",) if _is_of(function, "matplotlib") else ()


def _logs(value: Any) -> bool:
    """True if a value is a logger, a handler, or a method of one."""
    kind = type(value)
    if kind is MethodType:
        return _logs(value.__self__)
    if kind is functools.partial:
        return _logs(value.func)
    return issubclass(kind, (logging.Filterer, logging.LoggerAdapter))


def _is_of(function: FunctionType, package: str) -> bool:
    return str(function.__module__).partition(".")[0] == package


def _resolved(node: ast.expr, namespace: Mapping[str, object]) -> object:
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _resolved(node.value, namespace)
        return vars(owner).get(node.attr) if isinstance(owner, ModuleType) else None
    return None


def _codes(value: object, seen: set[CodeType], depth: int) -> Iterator[CodeType]:
    """The code of the user's functions that can be called through a value."""
    for function in _functions(value):
        code = function.__code__
        if depth == 0 or code in seen or _is_of_library(code.co_filename):
            continue
        seen.add(code)
        yield code
        for part in _parts(code):
            for name in part.co_names:
                yield from _codes(function.__globals__.get(name), seen, depth - 1)


def _functions(value: object) -> Iterable[FunctionType]:
    kind = type(value)
    if kind is FunctionType:
        return (_unwrapped(value),)
    if kind is MethodType:
        return _functions(value.__func__)  # type: ignore[attr-defined]
    owner: Any = value if issubclass(kind, type) else kind
    home = module_of_class(owner)
    if home == "__main__" or not _is_known(home):
        return [v for v in vars(owner).values() if type(v) is FunctionType]
    return ()


def _unwrapped(value: Any) -> FunctionType:
    inside = getattr(value, "__wrapped__", None)
    found: FunctionType = inside if type(inside) is FunctionType else value
    return found


@functools.lru_cache(maxsize=4096)
def _is_known(module: str) -> bool:
    home = getattr(sys.modules.get(module), "__file__", None)
    return home is None or _is_of_library(home)


@functools.lru_cache(maxsize=4096)
def _is_of_library(file: str) -> bool:
    return any(part in file for part in _OF_LIBRARIES)


@functools.lru_cache(maxsize=4096)
def _of_code(code: CodeType) -> frozenset[str]:
    found: set[str] = set()
    for part in _parts(code):
        found.update(part.co_names)
        found.update(c for c in part.co_consts if type(c) is str and len(c) < _LONGEST)
        found.update(_STEPS.get(i.opname, "") for i in dis.get_instructions(part))
    return frozenset(found)


_STEPS = {
    "FORMAT_VALUE": "__fstring__",
    "FORMAT_SIMPLE": "__fstring__",
    "FORMAT_WITH_SPEC": "__fstring__",
    "IMPORT_NAME": "__import__",
}


def _parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


def sets_first(tree: ast.Module, kind: Kind, item: str) -> bool:
    """True if code begins by setting an item to what its text shows, before it can read it.

    Only imports and statements of the same sort, whose arguments are constants, stand before it.
    """
    setters = re.compile(kind.setters) if kind.setters else None
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass):
            continue
        names = _plainly_set(statement)
        if names is None:
            return False
        is_set = setters is not None and any(setters.fullmatch(n) for n in names)
        if is_set and (kind.name != "environment" or item in names):
            return True
    return False


def _plainly_set(statement: ast.stmt) -> set[str] | None:
    """Names and strings of a statement that calls or assigns nothing but constants."""
    match statement:
        case ast.Expr(value=ast.Constant()):
            return set()
        case ast.Expr(value=ast.Call(func=function, args=args, keywords=keywords)):
            values = [*args, *(k.value for k in keywords)]
            target: list[ast.expr] = [function]
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript() as place], value=value):
            values, target = [value], [place]
        case _:
            return None
    if not all(_is_constant(v) for v in values):
        return None
    if any(isinstance(n, ast.Call) and n.args for t in target for n in ast.walk(t)):
        return None
    nodes = [n for part in (*target, *values) for n in ast.walk(part)]
    words = {w for n in nodes for w in _of_node(n)}
    return words | {part for w in words for part in w.split()}


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_is_constant, node.elts))
    if isinstance(node, ast.Dict):
        return all(k is not None and _is_constant(k) for k in node.keys) and all(
            map(_is_constant, node.values)
        )
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    if isinstance(node, ast.Attribute):  # logging.WARNING, np.inf
        return isinstance(node.value, ast.Name) and node.attr != "environ"
    return isinstance(node, ast.Constant)
