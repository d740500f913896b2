"""Makes random notebooks of plain Python, NumPy, pandas and library calls.

A statement is a template. `<list>` stands for a variable of that kind that an earlier cell bound,
`<=list>` for a name that is bound now, `<n>` for a small number and `<e>` for an expression of
whole numbers. Names are few, so that most statements alias, rebind or change what is there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from tests.random_programs.programs import Action, Mode, Program, Source
from tests.random_programs.templates import NAMES, TEMPLATES, TOPICS, Template, imports_for

_HOLE = re.compile(r"<(=?)(\w+)>")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_T = TypeVar("_T")
_MODES: Sequence[Mode] = ("on", "skip", "skip", "marked", "marked")


class Choices(Protocol):
    """Where choices come from: a generator of random numbers, or Hypothesis."""

    def below(self, end: int) -> int:
        """A number from 0 to `end`, which is left out."""


class Notebook:
    """A notebook that grows, and what is known of the names in it."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._kinds: dict[str, str] = {}
        # Few topics a program: what belongs together meets more often.
        topics = {self._one_of(TOPICS) for _ in range(1 + choices.below(3))}
        self._favourites = [t for t in TEMPLATES if t.topic in topics]

    def program(self) -> Program:
        """A whole one, with what is done with it."""
        mode = self._one_of(_MODES)
        cells = [Source(self._statements())]
        for _ in range(1 + self._choices.below(3)):
            cells.append(self._cell(cells))
        actions = self._actions(cells)
        sources = [*cells, *(a.source for a in actions if a.source)]
        imports = imports_for(text for source in sources for text in source.statements)
        above = Source((imports,), is_marked=self._is_likely(2))
        below = [replace(a, at=a.at + 1) if a.verb in ("run", "edit") else a for a in actions]
        return Program(mode, (above, *cells), tuple(below))

    # -- cells

    def _cell(self, cells: Sequence[Source]) -> Source:
        is_marked = not self._is_likely(5)
        if len(cells) > 1 and self._is_likely(6):  # a cell that was copied
            copied = self._one_of(cells[1:])
            return replace(copied, is_marked=is_marked)
        return Source(self._statements(), is_marked)

    def _statements(self) -> tuple[str, ...]:
        found = [self._statement() for _ in range(1 + self._choices.below(3))]
        if self._is_likely(3):
            found.append(self._shown())
        return tuple(found)

    def _statement(self) -> str:
        for _ in range(8):
            templates = TEMPLATES if self._is_likely(6) else self._favourites
            template = self._one_of(templates)
            if all(self._names_of(kind) for kind in template.needs):
                return self._filled(template)
        return self._filled(self._one_of([t for t in TEMPLATES if not t.needs]))

    def _filled(self, template: Template) -> str:
        binds: dict[str, str] = {}

        def fill(hole: re.Match[str]) -> str:
            is_bound, kind = hole.groups()
            if is_bound:
                name = self._new_name(kind)
                binds[name] = kind
                return name
            return self._expression(kind)

        text = _HOLE.sub(fill, template.text)
        for name in template.unbinds(text):
            self._kinds.pop(name, None)
        self._kinds.update(binds)
        return text

    def _new_name(self, kind: str) -> str:
        if self._is_likely(20):  # a name that is of another kind elsewhere
            return self._one_of([n for names in NAMES.values() for n in names])
        return self._one_of(NAMES[kind])

    def _expression(self, kind: str) -> str:
        if kind == "n":
            return str(self._one_of((0, 1, 2, 3, 5, 7, 300, 1000)))
        if kind == "any":
            return self._one_of(list(self._kinds) or ["np"])
        if kind != "e":
            return self._one_of(self._names_of(kind))
        forms = [str(self._choices.below(10)), *self._names_of("int")]
        forms += [f"len({name})" for name in self._names_of("list")]
        forms += [f"{name}(2)" for name in self._names_of("func")]
        return self._one_of(forms)

    def _names_of(self, kind: str) -> list[str]:
        if kind in ("n", "e"):
            return ["1"]
        return [n for n, k in self._kinds.items() if kind in (k, "any")]

    def _shown(self) -> str:
        names = [n for n, k in self._kinds.items() if k in _PRINTED]
        if not names:
            return "print('nothing')"
        name = self._one_of(names)
        return self._one_of((f"print({name})", name, f"print('{name}', {name})"))

    # -- what is done with it

    def _actions(self, cells: Sequence[Source]) -> list[Action]:
        found = [Action("all")]
        cells = list(cells)
        for _ in range(1 + self._choices.below(2)):
            found += self._some_actions(cells)
        return found

    def _some_actions(self, cells: list[Source]) -> list[Action]:
        ends = Action(self._one_of(("kill", "restart")))
        match self._choices.below(8):
            case 0 | 1:
                return [ends, Action("resume"), *self._work(cells)]
            case 2:
                return [ends, *self._work(cells)]
            case 3:
                return [*self._work(cells), ends, Action("all")]
            case 4:
                return [Action("rewind", self._choices.below(8)), *self._work(cells)]
            case 5:
                return [Action("rewind", self._choices.below(8)), Action("back")]
            case 6:
                given = self._one_of(("", "", *(f"{n}=5" for n in self._names_of("int"))))
                return [Action("fork", self._choices.below(8), given=given), *self._work(cells)]
        return self._work(cells)

    def _work(self, cells: list[Source]) -> list[Action]:
        if self._is_likely(4):
            return []
        at = self._choices.below(len(cells))
        match self._choices.below(5):
            case 0:
                return [Action("all")]
            case 1:
                return [Action("run", at)]
        cells[at] = self._edited(cells[at])
        edit = Action("edit", at, cells[at])
        return [edit, Action("all") if self._is_likely(2) else Action("run", at)]

    def _edited(self, cell: Source) -> Source:
        statements = list(cell.statements)
        own = range(len(statements))
        match self._choices.below(5):
            case 0:
                statements.append("# a comment")
            case 1:
                statements.append(self._statement())
            case 2 if own:
                statements[self._one_of(own)] = self._statement()
            case 3 if len(own) > 1:
                del statements[self._one_of(own)]
            case _ if own:
                at = self._one_of(own)
                statements[at] = self._with_another_number(statements[at])
        return replace(cell, statements=tuple(statements))

    def _with_another_number(self, text: str) -> str:
        numbers = list(_NUMBER.finditer(text))
        if not numbers:
            return f"{text}\n{self._statement()}"
        number = self._one_of(numbers)
        return f"{text[: number.start()]}{self._choices.below(9)}{text[number.end() :]}"

    # -- choices

    def _one_of(self, options: Sequence[_T]) -> _T:
        return options[self._choices.below(len(options))]

    def _is_likely(self, one_in: int) -> bool:
        return self._choices.below(one_in) == 0


_PRINTED = frozenset(
    {
        "int",
        "float",
        "str",
        "list",
        "dict",
        "tuple",
        "arr",
        "nest",
        "counter",
        "deque",
        "series",
        "frame",
    }
)


def program_from(choices: Choices) -> Program:
    """A random program."""
    return Notebook(choices).program()
