"""Commands in messages, as they are typed where somebody reads them: a notebook, or a terminal.

Messages are written as for a terminal, but for what only a notebook has. Each door has one place
through which all that it says goes, and which turns them round.
"""

from __future__ import annotations

import re

MAGICS: dict[str, str] = {}
"""Command of the terminal → the magic that does the same: ``log`` → ``%nbckpt log``.

`nbckpt.verbs` fills it: each verb that both doors have.
"""

_TYPED = re.compile(r"`nbckpt ([a-z]+)([^`\n]*)`")
_MAGIC = re.compile(r"(?<![^\s`(])%(?:nbckpt )?([a-z]+)\b")


def in_notebook(text: str) -> str:
    """`text` with the commands in it, which stand in backticks, as magics where they are some.

    Examples
    --------
    >>> import nbckpt.verbs
    >>> in_notebook("`nbckpt check` tells; `nbckpt resume main`; `nbckpt rekey`")
    '`%nbckpt check` tells; `%resume main`; `nbckpt rekey`'
    """
    if "`nbckpt " not in text:
        return text
    return _TYPED.sub(_as_magic, text)


def in_terminal(text: str) -> str:
    """`text` with the magics in it as commands, where there are such.

    Examples
    --------
    >>> import nbckpt.verbs
    >>> in_terminal("%resume --fallback takes it; `%nbckpt log` lists them; `%timeline`")
    'nbckpt resume --fallback takes it; `nbckpt log` lists them; `%timeline`'
    """
    return _MAGIC.sub(_as_command, text) if "%" in text else text


def _as_magic(found: re.Match[str]) -> str:
    word, rest = found[1], found[2]
    # Another store than that of the notebook is asked in a terminal alone.
    is_elsewhere = "--store" in rest or (word == "trust" and rest.strip() not in ("", "--show"))
    if is_elsewhere or word not in MAGICS:
        return found[0]
    return f"`{MAGICS[word]}{rest}`"


def _as_command(found: re.Match[str]) -> str:
    return f"nbckpt {found[1]}" if MAGICS.get(found[1]) == found[0] else found[0]
