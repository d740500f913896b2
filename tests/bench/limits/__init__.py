"""What nbckpt may cost at most, beside what the machine can do at all.

Each measure runs in a process and a folder of its own and gives figures.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.limits import (
    beginning,
    elements,
    everyday,
    frames,
    fresh,
    history,
    large,
    loops,
    many,
    memory,
    objects,
)

Limit = Callable[[Path, bool], list[Figure]]

LIMITS: dict[str, Limit] = {
    f.__name__: f
    for f in (
        large.first_saves,
        large.one_element,
        large.one_element_without_pages,
        beginning.cold_restore,
        beginning.first_cells,
        objects.one_appended,
        everyday.messages_appended,
        elements.elements_appended,
        elements.entries_added,
        elements.elements_appended_large,
        elements.entries_added_large,
        everyday.names_around,
        everyday.long_session,
        everyday.figures_around,
        everyday.commands,
        fresh.blocks,
        fresh.star_import,
        frames.one_column,
        frames.only_read,
        loops.plain_loop,
        memory.of_arrays,
        memory.of_objects,
        many.ten_thousand,
        history.rewinds,
        history.forks,
        history.listing,
    )
}

ON_REQUEST = {elements.elements_appended_large.__name__, elements.entries_added_large.__name__}
"""Limits that take minutes: measured only where `--measures` names them."""
