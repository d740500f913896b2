"""Numbers as text for people: sizes, durations, ages, counts."""

from __future__ import annotations

from decimal import Decimal

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def bytes_text(size_bytes: float) -> str:
    """A size in decimal units, with three digits where it is not whole.

    Examples
    --------
    >>> [bytes_text(n) for n in (0, 999, 1500, 44_000_000, 1_234_000_000)]
    ['0 B', '999 B', '1.5 kB', '44 MB', '1.23 GB']
    """
    unit = 0
    size = float(size_bytes)
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {_UNITS[unit]}"


def duration_text(seconds: float) -> str:
    """A duration as one would say it: two digits of what is short, two units of what is long.

    Examples
    --------
    >>> [duration_text(s) for s in (0, 0.0042, 0.31, 4.2, 59.96, 126, 3660, 200_000)]
    ['0 ms', '4.2 ms', '0.31 s', '4.2 s', '1 min', '2 min 6 s', '1 h 1 min', '2 d 7 h']
    """
    if seconds < 0:
        return f"-{duration_text(-seconds)}"
    if seconds < 0.0995:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 59.95:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.3g} s"
    whole = round(seconds)
    for unit, parts in ((_DAY, ("d", "h", _HOUR)), (_HOUR, ("h", "min", _MINUTE))):
        if whole >= unit:
            return _two_units(whole, unit, *parts)
    return _two_units(whole, _MINUTE, "min", "s", 1)


def _two_units(whole: int, unit: int, name: str, smaller: str, part: int) -> str:
    rest = whole % unit // part
    return f"{whole // unit} {name}" + (f" {rest} {smaller}" if rest else "")


def age_text(seconds: float) -> str:
    """An age in words, in one unit.

    Examples
    --------
    >>> [age_text(s) for s in (1, 40, 150, 3 * 3600, 2 * 86400, 90 * 86400)]
    ['just now', '40 s ago', '2 min ago', '3 h ago', '2 days ago', '90 days ago']
    """
    if seconds < 2:
        return "just now"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s ago"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min ago"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR:.0f} h ago"
    return f"{seconds // _DAY:.0f} days ago"


def count_text(count: int, one: str, many: str = "") -> str:
    """A number and its noun.

    Examples
    --------
    >>> count_text(1, "branch", "branches"), count_text(12, "checkpoint")
    ('1 branch', '12 checkpoints')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def usd_text(usd: float) -> str:
    """An amount in US dollars: in cents, and with two digits where it is less than one.

    Examples
    --------
    >>> [usd_text(n) for n in (0, 0.42, 1234.5, 0.0021, 0.00000012)]
    ['$0.00', '$0.42', '$1,234.50', '$0.0021', '$0.00000012']
    """
    if usd == 0 or abs(usd) >= 0.0995:
        return f"${usd:,.2f}"
    return f"${Decimal(f'{usd:.1e}').normalize():f}"
