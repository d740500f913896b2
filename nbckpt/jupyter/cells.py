"""What happens around each cell: restore it or run it, then checkpoint what it did.

``%%checkpoint`` is not run as a magic around a string: an input transformer leaves the cell's own
lines where they are behind a marker, so that tracebacks, magics, top-level `await` and the result
of the last line are those of any other cell. The decision falls when the cell has been parsed and
before it runs.
"""

from __future__ import annotations

import ast
import json
import re
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.core.error import InputRejected
from IPython.core.inputtransformer2 import cell_magic
from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError, StoreError, UsageError
from nbckpt.jupyter import notices
from nbckpt.model import Cell, Checkpoint
from nbckpt.session import Session

# What only cells need is imported by the first of them, not by `%load_ext` and `%resume`.
if TYPE_CHECKING:
    from nbckpt.jupyter.outputs import Recorder
    from nbckpt.steps import Request, Step

_MARKER = "%%checkpoint"

_TEXTS = frozenset({"writefile", "file", "html", "HTML", "latex", "markdown"})
"""Cell magics below which any text may stand."""

_QUIET = ast.fix_missing_locations(ast.Module([ast.Expr(ast.Constant(";"))], [])).body[0]

_RANDOM = re.compile(r"[0-9a-f]{8,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Ids that a front end makes up: eight hex digits or more, or a UUID."""


class CellRejected(InputRejected):
    """A cell that is not run, because of what its `%%checkpoint` line says."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Auto(NamedTuple):
    """What happens to cells that ask for nothing themselves.

    Attributes
    ----------
    keeps
        They are checkpointed.
    skips
        They are restored instead of run when nothing that they read has changed.
    sync
        The next cell waits until the checkpoint is durable.
    """

    keeps: bool = False
    skips: bool = False
    sync: bool = False


class Cells:
    """Follows the cells of one shell, for one session."""

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self.shell = shell
        self.session = session
        self.auto = Auto()
        self.latest: Step | None = None
        self._info: Any = None
        self._step: Step | None = None
        self._tree: ast.Module | None = None
        self._recorder: Recorder | None = None
        self._owners: dict[str, tuple[str, str]] = {}
        session.guards_blocks = True

    # -- IPython calls these ------------------------------------------------------------------

    def transform(self, lines: list[str]) -> list[str]:
        """The lines of a cell, its `%%checkpoint` line turned into a marker."""
        lines = _marker_first(lines)
        if not lines or not lines[0].startswith(_MARKER):
            return lines
        rest = lines[0][len(_MARKER) :]
        if rest[:1].strip():
            return lines  # %%checkpointed, or %%checkpoint?
        marker = f"get_ipython().run_cell_magic('checkpoint', {rest.strip()!r}, '')\n"
        return [marker, *cell_magic(lines[1:])]

    def before(self, info: Any) -> None:
        """Remember the cell that is about to run (the event `pre_run_cell`)."""
        if self._info is None:
            self._info = info
            self._tell_news()

    def visit(self, tree: ast.Module) -> ast.Module:
        """Decide what to do with a parsed cell; what is left of it is run."""
        if self._info is None or self._tree is not None:
            self.session.ran(tree)  # a hidden request, or a cell that runs a cell
            self.session.running = self.session.running or tree
            return tree
        line = _marked(tree)
        if line is not None:
            tree.body = tree.body[1:]
        self._tree = self.session.running = ast.Module(list(tree.body), [])
        if self._info.raw_cell.rstrip().endswith(";"):  # a cell that shows nothing is another one
            self._tree.body.append(_QUIET)
        self.session.moved = False
        from nbckpt.jupyter.guards import Guard

        Guard(self.session.namespace).guarded(tree)
        request = self._request(line)
        if request is None:
            return tree
        step = self._begin(request, explicit=line is not None)
        if step is None:
            return tree
        if step.todo:
            from nbckpt.jupyter.outputs import Recorder

            self._recorder = Recorder(self.shell)
            self._recorder.start()
        else:
            self._show_restored(step)
            from nbckpt.jupyter.setup import setup_statements

            tree.body = setup_statements(tree)
        return tree

    def after(self, result: Any) -> None:
        """Checkpoint what the cell did (the event `post_run_cell`)."""
        if self._info is None or (result is not None and result.info is not self._info):
            return
        step, tree, recorder = self._step, self._tree, self._recorder
        self._info = self._step = self._tree = self._recorder = self.session.running = None
        shown = recorder.stop() if recorder is not None else []
        error = None if result is None else result.error_in_exec or result.error_before_exec
        try:
            if step is not None and step.todo and not self.session.moved:
                self._end(step, error, shown)
            elif tree is not None and (step is None or step.todo):
                self.session.ran(tree)
        except NbckptError as problem:
            notices.warn(f"{self._name_of(step)} was NOT kept: {problem}")
        except Exception:  # a hook's error never breaks the user's cell
            notices.warn(f"{self._name_of(step)} was NOT kept, by a defect in nbckpt:")
            traceback.print_exc()
        self._tell_news()

    def _tell_news(self) -> None:
        """Say what has become of writes that no cell waited for."""
        self.session.writing.settle()
        while self.session.writing.news:
            notices.warn(self.session.writing.news.popleft())

    # -- the steps of it ----------------------------------------------------------------------

    def _request(self, line: str | None) -> Request | None:
        from nbckpt.jupyter import options
        from nbckpt.steps import Request

        assert self._tree is not None
        if line is not None:
            try:
                request = options.parse(line, default_name=self._default_name())
                return self._claimed(request)
            except NbckptError as problem:
                raise self._rejected(problem) from problem
        if not self.auto.keeps or _is_our_own(self._tree):
            return None
        rerun = not self.auto.skips or _changes_the_shell(self._tree)
        return Request(self._default_name(), rerun=rerun, sync=self.auto.sync)

    def _default_name(self) -> str:
        cell_id = getattr(self._info, "cell_id", None)
        if cell_id:
            return f"cell-{_short(cell_id)}"
        from nbckpt import analysis

        assert self._tree is not None
        return f"cell-{analysis.digest_of_tree(self._tree)[:8]}"

    def _claimed(self, request: Request) -> Request:
        """`request`, if nothing else has its name."""
        if request.name in self.session.timeline.branches:
            message = f"{request.name!r} is the name of a branch: give this cell another name"
            raise UsageError(message)
        cell_id = getattr(self._info, "cell_id", None) or ""
        owner = self._owners.get(request.name)
        if owner is not None and cell_id and owner[0] != cell_id and not request.rerun:
            message = (
                f"{request.name!r} is the name of another cell, {owner[1]}: give this one a name "
                "of its own (or, if that cell is gone, take it with --rerun once)"
            )
            raise UsageError(message)
        if cell_id:
            self._owners[request.name] = (cell_id, f"In [{self.shell.execution_count - 1}]")
        return request

    def _begin(self, request: Request, *, explicit: bool) -> Step | None:
        assert self._tree is not None
        cell = Cell(
            self._info.raw_cell,
            self.shell.execution_count - 1 if self._info.store_history else None,
            getattr(self._info, "cell_id", None),
        )
        try:
            from nbckpt.steps import Step

            step = Step.begin(self.session, request, cell, self._tree)
        except StoreError as problem:
            notices.warn(f"cell {request.name!r} runs without a checkpoint: {problem}")
            return None
        except NbckptError as problem:
            if explicit:
                raise self._rejected(problem) from problem
            notices.warn(f"cell {request.name!r} runs without a checkpoint: {problem}")
            return None
        except Exception:  # a hook's error never breaks the user's cell
            notices.warn(f"cell {request.name!r} runs without a checkpoint, by a defect in nbckpt:")
            traceback.print_exc()
            return None
        if explicit and step.todo and not request.rerun and _ran_before(step):
            notices.say(self.shell, f"{request.name!r} runs: {'; '.join(step.why)}")
        self._step = self.latest = step
        return step

    def _rejected(self, problem: NbckptError) -> CellRejected:
        return CellRejected(f"{type(problem).__name__}: {problem}")

    def _show_restored(self, step: Step) -> None:
        checkpoint = step.restored
        assert checkpoint is not None
        if checkpoint.outputs is not None:
            self._show_again(checkpoint.outputs)
        text = notices.restored_text(checkpoint.name, step.took_s, checkpoint.duration_s)
        lost = [r for r in checkpoint.refused if r.variable in checkpoint.bound]
        if lost:
            text += "; not kept then: " + "; ".join(map(str, lost))
        notices.say(self.shell, text, restored=checkpoint.id, name=checkpoint.name)

    def _show_again(self, blob: str) -> None:
        try:
            recorded = json.loads(bytes(self.session.store.get_blob(blob)[0]))
        except NbckptError as problem:
            notices.warn(f"what this cell showed cannot be shown again: {problem}")
            return
        from nbckpt.jupyter import outputs

        outputs.show(self.shell, recorded)

    def _end(self, step: Step, error: BaseException | None, shown: list[Any]) -> None:
        if error is not None:
            step.fail(error)
            return
        is_auto = self.auto.keeps and not self._was_marked(step)
        patience = 0.0 if is_auto and not step.request.sync else -1.0
        head = self.session.head
        checkpoint = step.finish(shown, patience_s=patience)
        if checkpoint.parent is None and head is not None:
            self._tell_new_line(head)
        news = [
            r for r in checkpoint.refused if r.variable in {*checkpoint.bound, *step.names.binds}
        ]
        if news:
            text = "not kept: " + "; ".join(map(str, news))
            notices.say(self.shell, text, refused=[r.variable for r in news])

    def _tell_new_line(self, head: Checkpoint) -> None:
        names = [b for b, tip in self.session.timeline.branches.items() if tip == head.id]
        if names:
            text = (
                f"{self.session.branch!r} begins anew here; what was kept before is on "
                f"{names[0]!r}: %resume {names[0]} goes on there"
            )
            notices.say(self.shell, text, branch=names[0])

    def _was_marked(self, step: Step) -> bool:
        source = step.cell.source.lstrip().splitlines(keepends=True)
        return bool(source) and _marker_first(source)[0].startswith(_MARKER)

    def _name_of(self, step: Step | None) -> str:
        return "this cell" if step is None else f"checkpoint {step.request.name!r}"

    # -- a magic calls this -------------------------------------------------------------------

    def run_marked(self, line: str, source: str) -> None:
        """Run `source` as a `%%checkpoint` cell, where code asks for the magic by its name.

        Raises
        ------
        UsageError
            If nothing would turn the line into a marker: the cell would come back here for ever.
        """
        if self.transform not in self.shell.input_transformers_cleanup:
            message = "nbckpt no longer follows this notebook's cells: run `%reload_ext nbckpt`"
            raise UsageError(message)
        info, step, tree, recorder = self._info, self._step, self._tree, self._recorder
        self._info = self._step = self._tree = self._recorder = None
        try:
            self.shell.run_cell(f"{_MARKER} {line}\n{source}").raise_error()
        finally:
            self._info, self._step, self._tree, self._recorder = info, step, tree, recorder


class Transformer(ast.NodeTransformer):
    """The AST transformer that IPython calls; hands each cell to `Cells`."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    def visit(self, node: ast.AST) -> ast.AST:
        """What is left of the cell to run."""
        if not isinstance(node, ast.Module):
            return node
        try:
            return self._cells.visit(node)
        except InputRejected:
            raise
        except Exception:  # a hook's error never breaks the user's cell
            notices.warn("this cell runs without a checkpoint, by a defect in nbckpt:")
            traceback.print_exc()
            return node


def _marker_first(lines: list[str]) -> list[str]:
    """The lines of a cell with ``%%checkpoint`` above another cell magic, if it was below it."""
    text = [i for i, line in enumerate(lines) if line.strip()][:2]
    if len(text) < 2 or not lines[text[1]].startswith(_MARKER):
        return lines
    first = lines[text[0]]
    if not first.startswith("%%") or first[2:].split(maxsplit=1)[0] in _TEXTS:
        return lines
    rest = [line for i, line in enumerate(lines) if i not in text]
    return [lines[text[1]], first, *rest]


def _marked(tree: ast.Module) -> str | None:
    """The line of the cell's `%%checkpoint`; None if it has none."""
    first = tree.body[0] if tree.body else None
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Call):
        return None
    call = first.value
    if ast.unparse(call.func) != "get_ipython().run_cell_magic":
        return None
    values = [a.value if isinstance(a, ast.Constant) else None for a in call.args]
    match values:
        case ["checkpoint", str(line), ""]:
            return line
    return None


def _short(cell_id: str) -> str:
    """A cell id as part of a name: random ones cut to what tells them apart, others whole."""
    if _RANDOM.fullmatch(cell_id):
        return cell_id[:8]
    return re.sub(r"[^\w.+-]", "-", cell_id)


_OURS = frozenset({"nbckpt", "resume", "rewind", "checkpoint", "load_ext", "unload_ext"})


def _is_our_own(tree: ast.Module) -> bool:
    """Whether a cell does nothing but ask nbckpt for something."""
    return all(_line_magic(s) in _OURS for s in tree.body)


def _line_magic(statement: ast.stmt) -> str | None:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    if ast.unparse(call.func) != "get_ipython().run_line_magic":
        return None
    name = call.args[0]
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None


def _changes_the_shell(tree: ast.Module) -> bool:
    """Whether a cell does what no checkpoint can stand for: it moves in the history itself."""
    return any(_line_magic(s) in _OURS for s in ast.walk(tree) if isinstance(s, ast.stmt))


def _ran_before(step: Step) -> bool:
    return any(c.state == "done" for c in step.session.timeline.named(step.request.name))
