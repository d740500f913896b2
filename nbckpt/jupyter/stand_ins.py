"""The magics where nbckpt could not be loaded: cells run, and say why nothing is kept."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError, UsageError
from nbckpt.jupyter import marking, notices
from nbckpt.jupyter.magics import take_off
from nbckpt.verbs.arguments import Door
from nbckpt.verbs.registry import verbs_at

_ATTRIBUTE = "_nbckpt_stand_ins"
_AGAIN = "then run `%load_ext nbckpt` again"


class StandIns:
    """The magics by their names: a marked cell runs as if it were not, all others are refused."""

    def __init__(self, shell: InteractiveShell, problem: NbckptError) -> None:
        self._shell = shell
        self.problem = problem

    def attach(self) -> None:
        """Stand in for the magics from the next cell on."""
        self._shell.input_transformers_cleanup.append(self.transform)
        magics = self._shell.magics_manager.magics["line"]
        magics.setdefault("checkpoint", self.tell)
        for name in ("nbckpt", *(v.name for v in verbs_at(Door.NOTEBOOK) if v.is_magic)):
            magics.setdefault(name, self._refuse)  # others may have one of these names

    def detach(self) -> None:
        """Give up the place to the magics themselves."""
        transformers = self._shell.input_transformers_cleanup
        if self.transform in transformers:
            transformers.remove(self.transform)
        take_off(self._shell, self)

    def transform(self, lines: list[str]) -> list[str]:
        """A marked cell, its marker turned into a call that says that nothing is kept."""
        if (apart := marking.taken_apart(lines)) is None:
            return lines
        return ["get_ipython().run_line_magic('checkpoint', '')\n", *apart[1]]

    def tell(self, _: str) -> None:
        """Say that nothing is kept, and why."""
        notices.warn(f"this cell runs, and nothing of it is kept: {self.problem}; {_AGAIN}")

    def _refuse(self, _: str) -> None:
        message = f"nbckpt is not loaded: {self.problem}; {_AGAIN}"
        raise UsageError(message)


def stand_in(shell: InteractiveShell, problem: NbckptError) -> None:
    """Have the magics tell of a problem for which nbckpt could not be loaded."""
    stand_down(shell)
    stand_ins = StandIns(shell, problem)
    stand_ins.attach()
    setattr(shell, _ATTRIBUTE, stand_ins)


def stand_down(shell: InteractiveShell) -> None:
    """Take away what stands in for the magics, if anything does."""
    stand_ins: StandIns | None = getattr(shell, _ATTRIBUTE, None)
    if stand_ins is not None:
        stand_ins.detach()
        delattr(shell, _ATTRIBUTE)
