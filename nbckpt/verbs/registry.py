"""Verbs by name: a verb is declared once, and every door is made from its declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from nbckpt.text import commands
from nbckpt.verbs.arguments import TYPED, Door

if TYPE_CHECKING:
    from nbckpt.verbs.arguments import Argument
    from nbckpt.verbs.calls import Answer

Does: TypeAlias = "Callable[[Any], Answer]"
_F = TypeVar("_F", bound=Callable[..., Any])


class Operation(NamedTuple):
    """A request that the side panel may make of a verb.

    Attributes
    ----------
    name
        By default the verb's.
    writes
        True if it changes the notebook: it waits until no cell runs, and answers with a text and
        the status. Else the answer is the verb's record.
    fixed
        Arguments that it gives by itself.
    """

    name: str = ""
    writes: bool = False
    fixed: Mapping[str, object] = MappingProxyType({})


READS, WRITES = Operation(), Operation(writes=True)


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb.

    Attributes
    ----------
    help
        Its line in lists.
    arguments
        Those of all doors.
    does
        What it does, for the doors that have no other function in `at`.
    function
        The function of `import nbckpt`; None if there is none.
    doors
        Doors that have it.
    operations
        Requests of the side panel.
    is_magic
        True if it is a magic of its own; else it is a word of `%nbckpt`.
    moves
        True if it goes elsewhere in the history.
    writes
        True if a command waits until what it wrote is durable.
    usage
        What stands behind its name, where the arguments do not tell it well.
    more
        Text below its help.
    """

    name: str
    help: str
    arguments: tuple[Argument, ...]
    does: Does
    function: Callable[..., Any] | None
    doors: frozenset[Door]
    operations: tuple[Operation, ...]
    is_magic: bool
    moves: bool
    writes: bool
    usage: str
    more: str
    at: dict[Door, Does]

    def does_at(self, door: Door) -> Does:
        """Return what it does through `door`."""
        return self.at.get(door, self.does)

    def arguments_of(self, door: Door) -> list[Argument]:
        """Return the arguments that `door` takes."""
        return [argument for argument in self.arguments if door in argument.doors]

    @property
    def magic(self) -> str:
        """The words that begin it in a notebook."""
        return f"%{self.name}" if self.is_magic else f"%nbckpt {self.name}"

    def usage_at(self, door: Door) -> str:
        """Return the way to write it through `door`."""
        own = [a for a in self.arguments_of(door) if not (a.is_hidden or a.is_rare)]
        ordered = [a.usage for a in own if not a.is_option] + [a.usage for a in own if a.is_option]
        words = f"nbckpt {self.name}" if door == Door.TERMINAL else self.magic
        return f"{words} {self.usage or ' '.join(ordered)}".strip()


VERBS: dict[str, Verb] = {}
"""All of them by name, in the order of lists."""


def declare(
    name: str,
    help: str,  # noqa: A002  # argparse's word
    *arguments: Argument,
    function: Callable[..., Any] | None = None,
    doors: frozenset[Door] = TYPED,
    panel: Operation | tuple[Operation, ...] = (),
    is_magic: bool = False,
    moves: bool = False,
    writes: bool = False,
    usage: str = "",
    more: str = "",
) -> Callable[[_F], _F]:
    """Declare a verb; the decorated function is what it does. For the arguments see `Verb`.

    Parameters
    ----------
    doors
        Where it is typed. `function` and `panel` add their doors.
    """
    operations = (panel,) if isinstance(panel, Operation) else panel
    doors |= {Door.PYTHON} if function else set()
    doors |= {Door.PANEL} if operations else set()

    def declared(does: _F) -> _F:
        made = Verb(
            name, help, arguments, does, function, doors, operations, is_magic or moves, moves,
            writes, usage, more, {},
        )  # fmt: skip
        VERBS[name] = made
        if doors >= TYPED:
            commands.MAGICS[name] = made.magic
        return does

    return declared


def at(door: Door, name: str) -> Callable[[_F], _F]:
    """Have the decorated function be what the verb `name` does through `door`."""

    def declared(does: _F) -> _F:
        VERBS[name].at[door] = does
        return does

    return declared


def verbs_at(door: Door) -> Iterator[Verb]:
    """The verbs that `door` has."""
    return (verb for verb in VERBS.values() if door in verb.doors)


def operations() -> dict[str, tuple[Verb, Operation]]:
    """The requests that a side panel may make, by name."""
    return {
        operation.name or verb.name: (verb, operation)
        for verb in verbs_at(Door.PANEL)
        for operation in verb.operations
    }
