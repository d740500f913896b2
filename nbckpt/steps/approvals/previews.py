"""Preview of the data that a question is about: enough to decide on."""

from __future__ import annotations

from itertools import islice

from nbckpt.text.describe import preview_of

MOST_ITEMS = 40
MOST_CHARACTERS = 2000
_ATOMS = (str, bytes, int, float, complex, bool, type(None))


def shown(data: object) -> str:
    """Texts as they are, one line an item of plain data, and of other values one line.

    Examples
    --------
    >>> print(shown(["a.csv", "b.csv"]))
    a.csv
    b.csv
    >>> print(shown({"rows": 40, "table": "users"}))
    rows: 40
    table: users
    """
    text = _text(data)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _text(data: object) -> str:
    if type(data) is str:
        return data
    if type(data) in {list, tuple, set, frozenset}:
        return _items(data)  # type: ignore[arg-type]
    if type(data) is dict:
        few = islice(data.items(), MOST_ITEMS)
        lines = [f"{_item(key)}: {_item(value)}" for key, value in few]
        return _lines(lines, len(data))
    return preview_of(data)


def _items(data: list[object] | tuple[object, ...] | set[object]) -> str:
    return _lines([_item(value) for value in islice(data, MOST_ITEMS)], len(data))


def _item(value: object) -> str:
    if type(value) is str and value.isprintable():
        return value if len(value) <= MOST_CHARACTERS else f"{value[:MOST_CHARACTERS]}…"
    return preview_of(value)


def _lines(lines: list[str], total: int) -> str:
    more = [f"… and {total - len(lines):,} more"] if total > len(lines) else []
    return "\n".join([*lines, *more]) or "nothing"
