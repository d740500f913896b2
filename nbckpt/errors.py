"""Exceptions that nbckpt raises, grouped by the way a caller handles them.

::

    NbckptError
    ├── UsageError                    the request cannot be carried out
    ├── NotFoundError                 (also a KeyError)
    │   ├── CheckpointNotFoundError
    │   ├── BranchNotFoundError
    │   ├── VariableNotFoundError
    │   └── BlobNotFoundError
    ├── BranchExistsError
    ├── CaptureError                  no codec can keep this value
    ├── StaleCaptureError             a kept value is not the live one
    ├── RestoreError                  a stored value cannot be read here
    ├── StoreError                    the disk refuses: full, read-only, not a folder
    │   └── SealedError               the store is encrypted, and its key is not here
    ├── UncertainError                an action not to be repeated may have been done
    ├── RefusedError                  a person said no
    ├── UnansweredError               a person has not answered yet
    ├── NotebookError                 the notebook's own code failed, or its kernel died
    ├── UntrustedError                another user made it, and the user has not trusted it
    └── FormatError                   damaged, or written by a newer nbckpt
    BaseException
    ├── ReplayError                   a model call that was to be replayed was never recorded
    └── BudgetError                   a model call would have passed the budget

The last two are no `Exception`: the SDKs catch those, wait, and try again.

A message is one sentence with the name that the user knows and the next move.
"""

from __future__ import annotations

from nbckpt.text.escape import on_a_line


class NbckptError(Exception):
    """The root of all that nbckpt raises on purpose."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def _render_traceback_(self) -> list[str]:
        """The one line that IPython shows instead of a traceback through nbckpt's insides."""
        return [_shown_in_a_notebook(self)]


def _shown_in_a_notebook(error: BaseException) -> str:
    from nbckpt.text.commands import in_notebook

    return on_a_line(in_notebook(f"{type(error).__name__}: {error}"))


def line_of(error: BaseException) -> str:
    """An error's class and text; the text is the user's code, which may fail itself."""
    try:
        text = str(error)
    except Exception as problem:
        text = f"(its text cannot be told: its __str__ raised {type(problem).__name__})"
    return f"{type(error).__name__}: {text}"


class UsageError(NbckptError):
    """The request cannot be carried out; nothing was changed."""


class NotFoundError(NbckptError, KeyError):
    """A name that the store does not know."""


class CheckpointNotFoundError(NotFoundError):
    """No checkpoint answers to this reference."""


class BranchNotFoundError(NotFoundError):
    """No branch has this name."""


class VariableNotFoundError(NotFoundError):
    """No variable has this name, here or at that checkpoint."""


class BlobNotFoundError(NotFoundError):
    """The store does not hold the bytes of this digest."""


class BranchExistsError(NbckptError):
    """The name of a new branch is taken."""


class CaptureError(NbckptError):
    """No codec can keep this value."""


class StaleCaptureError(NbckptError):
    """A kept value is not the live one, or a restored value is not the one that a run gives."""


class RestoreError(NbckptError):
    """A stored value cannot be read here."""


class StoreError(NbckptError):
    """The disk refuses: it is full, read-only, or the path is not a folder."""


class SealedError(StoreError):
    """The store is encrypted, and the key that opens it is not here."""


class UncertainError(NbckptError):
    """An action that must not be repeated may have been done; `nbckpt.resolve` settles that."""


class RefusedError(NbckptError):
    """A question of `nbckpt.approve`, asked with `or_raise`, was refused."""


class UnansweredError(NbckptError):
    """Nobody has answered what `nbckpt.approve` asked; the question stays, and can be answered."""


class NotebookError(NbckptError):
    """The notebook's own code failed, or its kernel died."""


class UntrustedError(NbckptError):
    """It may run code that another user wrote, and the user has not said to trust it."""


NOT_YOURS = "was made by another user, or came from elsewhere"
"""The reason why something is not trusted, as the predicate of a sentence."""
TRUST_IT = "look at it (`nbckpt trust --show`), then `nbckpt trust`"
"""The next move of who is refused something for want of trust."""


class FormatError(NbckptError):
    """Damaged, or written by a newer nbckpt."""


class ReplayError(BaseException):
    """A model call that was to be replayed was never recorded; nothing was sent."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def _render_traceback_(self) -> list[str]:
        """The one line that IPython shows instead of a traceback through an SDK's insides."""
        return [_shown_in_a_notebook(self)]


class BudgetError(BaseException):
    """A model call would have passed the budget; nothing was sent."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def _render_traceback_(self) -> list[str]:
        """The one line that IPython shows instead of a traceback through an SDK's insides."""
        return [_shown_in_a_notebook(self)]
