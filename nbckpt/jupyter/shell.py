"""`%load_ext nbckpt`: binds a session to the notebook, and lets go of it again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.config.settings_sources import settings_from, settings_of
from nbckpt.errors import NbckptError, UsageError
from nbckpt.jupyter import notices, stand_ins
from nbckpt.jupyter.awaited import Awaiter
from nbckpt.jupyter.cell_interrupts import Blocks
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.comms import Comms
from nbckpt.jupyter.completion import Completion
from nbckpt.jupyter.idling import Idling
from nbckpt.jupyter.magics import CheckpointMagics, take_off
from nbckpt.jupyter.transforming import Transformer
from nbckpt.reports.status import greeting, strangers_text
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.session import Session
from nbckpt.session.shutdown import end
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.storage.store import Store
from nbckpt.text.secret_texts import secrets_seen
from nbckpt.timeline.events import let_shell_warn

if TYPE_CHECKING:
    from nbckpt.jupyter.queued_cells import QueuedCells
    from nbckpt.jupyter.rerunning import InShell
    from nbckpt.steps.execution.step_state import Shown
    from nbckpt.timeline.approvals import Question

_ATTRIBUTE = "_nbckpt_extension"
_NEEDED = (
    "ast_transformers", "display_pub", "displayhook", "events", "input_transformers_cleanup",
    "input_transformers_post", "magics_manager", "user_ns", "user_ns_hidden",
)  # fmt: skip
_INSTRUMENTING = frozenset({"pyccolo.ipython_extension"})
_BOUND_TO_ITS_PATH = ("__vsc_ipynb_file__", "PAPERMILL_INPUT_PATH", "PAPERMILL_OUTPUT_PATH")


class Extension:
    """Everything that is attached to one shell, so that it can be taken off again."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        secrets_seen()  # what the environment says now is one, whatever becomes of it
        settings = settings_from()
        store = Store.open(settings.store)
        settings = settings_of(store, settings)
        # user_ns_hidden also names what the user may bind anew (`open`, `np` under %pylab).
        hidden = frozenset(shell.user_ns) & frozenset(shell.user_ns_hidden)
        name = notebook_of(shell.user_ns)
        self.session = Session(
            store, shell.user_ns, notebook=name, hidden=hidden, settings=settings
        )
        self.session.writes.shows = partial(notices.say, shell)
        steps = self.session.state(StepState)
        steps.asker = self._ask
        steps.runner = self._runner
        steps.results = (vars(shell.displayhook), shell.user_ns_hidden)
        self.cells = Cells(shell, self.session)
        self.comms = Comms(self.cells)
        self._transformer = Transformer(self.cells, self.comms)
        self._awaiter = Awaiter(shell)
        self._blocks = Blocks()
        self.idling = Idling(shell, self.session)
        self._magics = CheckpointMagics(shell, self.cells, self.idling)
        self._completion = Completion(shell, self.session)
        self._queued = _queued_cells(shell)

    def attach(self) -> None:
        """Follow the shell's cells from the next one on."""
        shell = self._shell
        shell.register_magics(self._magics)
        self._completion.attach()
        if self._queued is not None:
            self._queued.attach()
        shell.input_transformers_cleanup.append(self.cells.transform)
        self._stand_in_line()
        shell.events.register("pre_run_cell", self._stand_in_line)
        shell.events.register("pre_run_cell", self.cells.before)
        if self.session.settings.idle_s:
            shell.events.register("post_run_cell", self.idling.glance_after)
        shell.events.register("post_execute", self.cells.between)
        shell.events.register("post_run_cell", self.cells.after)
        shell.events.register("pre_run_cell", self._blocks.before)
        shell.events.register("post_run_cell", self._blocks.after)
        self.idling.attach()
        current_session.begin(self.session)
        let_shell_warn(does=True)
        if auto := self.session.settings.auto:
            self.cells.steps.follow(auto)

    def _lines(self) -> list[tuple[list[Any], Any]]:
        """The lists of what a cell goes through that may be replaced, and what stands there."""
        shell = self._shell
        return [
            (shell.input_transformers_post, self._awaiter.transform),
            (shell.ast_transformers, self._transformer),
        ]

    def _stand_in_line(self, _: object = None) -> None:
        """Be among what a cell goes through: an extension may have put other lists in their place.

        What instruments the code comes after: it is to be seen as it was written.
        """
        for line, own in self._lines():
            if own not in line:
                at = (n for n, one in enumerate(line) if type(one).__module__ in _INSTRUMENTING)
                line.insert(next(at, len(line)), own)

    def detach(self) -> None:
        """Let go; what was kept stays kept."""
        shell = self._shell
        self.comms.detach()
        self.idling.detach()
        for line, own in (*self._lines(), (shell.input_transformers_cleanup, self.cells.transform)):
            if own in line:
                line.remove(own)
        shell.events.unregister("pre_run_cell", self._stand_in_line)
        shell.events.unregister("pre_run_cell", self.cells.before)
        shell.events.unregister("post_execute", self.cells.between)
        shell.events.unregister("post_run_cell", self.cells.after)
        shell.events.unregister("pre_run_cell", self._blocks.before)
        shell.events.unregister("post_run_cell", self._blocks.after)
        if self.session.settings.idle_s:
            shell.events.unregister("post_run_cell", self.idling.glance_after)
        take_off(shell, self._magics)
        self._completion.detach()
        if self._queued is not None:
            self._queued.detach()
        let_shell_warn(does=False)
        current_session.end()
        try:
            end(self.session)
        finally:
            self.session.workspace.observer.end()
            self.session.store.close()

    def _ask(self, session: Session, question: Question) -> Shown:
        """Show a question of `nbckpt.approve` below the cell that asks it."""
        from nbckpt.jupyter import asking

        return asking.ask(self._shell, session, question)

    def _runner(self, *, quiet: bool = False) -> InShell:
        """Run recorded cells as the shell runs any cell."""
        from nbckpt.jupyter.rerunning import InShell

        return InShell(self._shell, self.cells, quiet=quiet)


def _queued_cells(shell: InteractiveShell) -> QueuedCells | None:
    """What decides about cells in a kernel's queue; None in a terminal, which has none."""
    if not hasattr(shell, "kernel"):
        return None
    from nbckpt.jupyter.queued_cells import QueuedCells

    return QueuedCells(shell)


def attached(shell: InteractiveShell) -> Extension:
    """Return the extension that is attached to `shell`.

    Raises
    ------
    UsageError
        If none is.
    """
    extension: Extension | None = getattr(shell, _ATTRIBUTE, None)
    if extension is None:
        message = "nbckpt is not loaded: `%load_ext nbckpt`"
        raise UsageError(message)
    return extension


def load(shell: InteractiveShell) -> None:
    """Attach nbckpt to `shell`, and say in one line what its store holds.

    Raises
    ------
    UsageError
        If the shell shows nobody what it runs.
    """
    if getattr(shell, _ATTRIBUTE, None) is not None:
        return
    if lacking := [name for name in _NEEDED if not hasattr(shell, name)]:
        kind = f"{type(shell).__module__}.{type(shell).__qualname__}"
        message = (
            f"nbckpt cannot see the cells of {kind}: it has no {', '.join(lacking)}. IPython's own"
            " shells have these: use the kernel of ipykernel, called Python 3"
        )
        raise UsageError(message)
    try:
        extension = Extension(shell)
    except NbckptError as problem:
        stand_ins.stand_in(shell, problem)
        raise
    stand_ins.stand_down(shell)
    extension.attach()
    setattr(shell, _ATTRIBUTE, extension)
    session = extension.session
    branch, store = session.position.branch, str(session.store.path)
    text = greeting(session.timeline, branch, store, notebook=session.notebook)
    notices.say(shell, text, branch=session.position.branch)
    if strangers := strangers_text(session.store).replace("`nbckpt", "`%nbckpt"):
        notices.say(shell, f"nbckpt: {strangers}", untrusted=True)
    for told in session.settings.problems:
        notices.warn(told)
    extension.comms.attach()


def unload(shell: InteractiveShell) -> None:
    """Take nbckpt off `shell`; everything that was begun is written first."""
    stand_ins.stand_down(shell)
    extension = getattr(shell, _ATTRIBUTE, None)
    if extension is None:
        return
    setattr(shell, _ATTRIBUTE, None)
    try:
        extension.detach()
    except NbckptError as problem:
        notices.warn(str(problem))


def notebook_of(namespace: Mapping[str, object]) -> str:
    """The name of the notebook whose variables these are, without its ending; empty if unknown.

    Notes
    -----
    Jupyter's server names it in ``JPY_SESSION_NAME``. VS Code binds a variable before the first
    cell, papermill one among its parameters when it is asked to, and Databricks has a function.
    Colab, Kaggle and nbclient tell a kernel nothing: there ``NBCKPT_NOTEBOOK`` does.
    """
    told = [
        os.environ.get("NBCKPT_NOTEBOOK"),
        *map(namespace.get, _BOUND_TO_ITS_PATH),
        os.environ.get("JPY_SESSION_NAME"),
    ]
    paths = [path for path in told if isinstance(path, str) and path]
    path = paths[0] if paths else _in_databricks(namespace)
    return PurePath(unquote(path) if "://" in path else path).stem


def _in_databricks(namespace: Mapping[str, object]) -> str:
    """The path of a notebook of Databricks; empty elsewhere."""
    if not os.environ.get("DATABRICKS_RUNTIME_VERSION"):
        return ""
    tools: Any = namespace.get("dbutils")
    try:
        context = tools.notebook.entry_point.getDbutils().notebook().getContext()
        return str(context.notebookPath().get())
    except user_code_errors():  # of a job's, or another version's: then the name is unknown
        return ""
