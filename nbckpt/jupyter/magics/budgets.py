"""`%nbckpt budget`: what model calls may cost."""

from __future__ import annotations

from nbckpt.errors import UsageError
from nbckpt.jupyter.magics import lines


def budget(line: str) -> None:
    """Stop model calls before the one that would pass a budget, or tell what was paid."""
    from nbckpt.llm.budget import budget

    usage = "%nbckpt budget [USD | off]"
    words, _ = lines.parted(line, usage, 0, 1)
    print(budget(_amount(words[0], usage) if words else None))


def _amount(word: str, usage: str) -> float:
    if word == "off":
        return float("inf")
    try:
        return float(word.removeprefix("$"))
    except ValueError as error:
        message = f"budget {word!r}: write `{usage}`"
        raise UsageError(message) from error
