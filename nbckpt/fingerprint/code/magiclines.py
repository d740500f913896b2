"""Effects of IPython's magics and shell lines on names, from their text alone.

The text of a cell reaches nbckpt as IPython transformed it: ``%time x = 1`` is the call
``get_ipython().run_line_magic('time', 'x = 1')``. A magic that is not known here can do anything.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from typing import Any

from nbckpt.runtime.source_trees import parse

_HARMLESS = (
    "alias autoawait automagic autoreload autosave bookmark cat cd checkpoint colors "
    "conda config cp dhist dirs doctest_mode env file gui hist history html HTML "
    "javascript js latex ldir lf lk ll load_ext ls lsmagic lx magic mamba man markdown "
    "matplotlib micromamba mkdir more mv nbckpt notebook page pastebin pdb pdef pdoc "
    "pfile pinfo pinfo2 pip popd pprint precision psearch psource pushd pwd quickref "
    "rehashx rm rmdir save set_env svg SVG tb timeline unalias unload_ext uv "
    "writefile xmode "
)
HARMLESS = frozenset(_HARMLESS.split())
"""Magics that bind no name and run no code of the notebook."""

SHELLS = frozenset(["!", "bash", "perl", "python2", "ruby", "script", "sh", "sx", "system"])
"""Magics that hand their text to another program."""

RUNS_CODE = {"time": None, "prun": "DlsT", "capture": None, "checkpoint": None, "timeit": "nrp"}
"""Magics whose text is code → their short options that take a value; None: none are short."""

LOOKS_AT = frozenset({"pinfo", "pinfo2", "pdef", "pdoc", "pfile", "psource"})

_LINE = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)
_BRACED = re.compile(r"\{([^{}]+)\}")
_DOLLAR = re.compile(r"(?<!\$)\$([^\W\d]\w*)")
_OPTION = re.compile(r"\s*-([A-Za-z])(\S*)\s*")
_LONG_OPTION = re.compile(r"\s*--[\w-]+(=\S+)?\s*")
_OUTPUT_NAME = re.compile(r"--(?:out|err|proc)[ =]+(\w+)")


def without_magics(source: str) -> str:
    """A cell's text as it was typed, each line of a magic or for a shell as a `pass`."""
    return _LINE.sub(r"\1pass", source)


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of one magic.

    Attributes
    ----------
    anything
        True if nobody knows the effect: it can touch every name.
    code
        Python that it runs, in order.
    keeps
        True if the code has run to its end, and left its names bound, where the cell goes on.
    reads
        Expressions that it evaluates.
    binds
        Names that it binds.
    """

    label: str
    anything: bool = False
    code: tuple[str, ...] = ()
    keeps: bool = True
    reads: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()


def effect_of(method: str, arguments: list[str]) -> Effect | None:
    """Effect of ``get_ipython().method(*arguments)``; None when it is not a magic's call."""
    if method in ("system", "getoutput", "getoutput_pip") and arguments:
        return Effect("!", reads=expanded(arguments[0]))
    if method == "run_line_magic" and len(arguments) == 2:
        return _line(*arguments)
    if method == "run_cell_magic" and len(arguments) == 3:
        return _cell(*arguments)
    return None


def expanded(text: str) -> tuple[str, ...]:
    """The expressions that IPython puts into a command: ``{expression}`` and ``$name``."""
    return (*_BRACED.findall(text), *_DOLLAR.findall(text))


def parsed(code: str) -> ast.Module | None:
    """`code` as a tree, IPython's own syntax included; None when it cannot be read."""
    try:
        return parse(code)
    except SyntaxError:
        pass
    transformer = sys.modules.get("IPython.core.inputtransformer2")
    if transformer is None:
        return None
    try:
        text: str = transformer.TransformerManager().transform_cell(code)
        return parse(text)
    except SyntaxError:
        return None


def time_raises(line: str) -> bool:
    """True if an error in what ``%time`` runs ends the cell; before IPython 9 it did not."""
    if "--no-raise-error" in line:
        return False
    execution: Any = sys.modules.get("IPython.core.magics.execution")
    parser = getattr(getattr(execution, "ExecutionMagics", None), "time", None)
    return "--no-raise-error" in getattr(getattr(parser, "parser", None), "format_help", str)()


def _line(name: str, line: str) -> Effect:
    if name in ("time", "prun", "timeit"):
        ends_cell = name == "prun" or (name == "time" and time_raises(line))
        return Effect(f"%{name}", code=(_after_options(line, RUNS_CODE[name]),), keeps=ends_cell)
    if name in LOOKS_AT:
        return Effect(f"%{name}", reads=(line.strip(),))
    if name in SHELLS or name in HARMLESS:
        return Effect(f"%{name}", reads=expanded(line))
    return Effect(f"%{name}", anything=True)


def _cell(name: str, line: str, body: str) -> Effect:
    label = f"%%{name}"
    if name == "timeit":
        return Effect(label, code=(_after_options(line, RUNS_CODE[name]), body), keeps=False)
    if name == "capture":
        output = [word for word in line.split() if word.isidentifier()]
        return Effect(label, code=(body,), keeps=False, binds=tuple(output[:1]))
    if name in RUNS_CODE:
        keeps = name != "time" or time_raises(line)
        return Effect(label, code=(body,), keeps=keeps, reads=expanded(line))
    if name in SHELLS:
        return Effect(label, reads=expanded(line), binds=tuple(_OUTPUT_NAME.findall(line)))
    if name in HARMLESS:
        return Effect(label, reads=expanded(line))
    return Effect(label, anything=True)


def _after_options(line: str, valued: str | None) -> str:
    """`line` without its leading options; `valued` are the short ones that take a value."""
    rest = line
    while match := _LONG_OPTION.match(rest):
        rest = rest[match.end() :]
    while valued is not None and (match := _OPTION.match(rest)):
        rest = rest[match.end() :]
        if match[1] in valued and not match[2]:
            rest = rest.partition(" ")[2]
    return rest.strip()
