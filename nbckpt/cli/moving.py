"""The verbs that move in the history: rewind, fork, switch, update, rerun, resume.

There is no live namespace here. Moves without values change where branches point, and load
nothing; a notebook is there when it next resumes.
"""

from __future__ import annotations

import argparse
from typing import Any

from nbckpt.cli import parsing
from nbckpt.cli.parsing import looking_session, writing_session
from nbckpt.cli.showing import DONE, NOTEBOOK_FAILED, print_json, say, warn
from nbckpt.errors import BranchNotFoundError

_RESUME = """\
Code for -c, or a console:

  nbckpt resume main -c "print(model.score(X, y))"
"""


def add(verbs: Any) -> None:
    """Declare the verbs of this room."""
    rewind = parsing.verb(
        verbs, "rewind", _rewind, "move the branch back to a checkpoint; `rewind -` undoes it"
    )
    parsing.takes_ref(rewind)
    fork = parsing.verb(
        verbs, "fork", _fork, "a new branch at a checkpoint, with other values", parsing.VALUES
    )
    parsing.takes_ref(fork)
    fork.add_argument("words", metavar="BRANCH | NAME=EXPRESSION", nargs="*")
    switch = parsing.verb(verbs, "switch", _switch, "choose the branch that a notebook resumes on")
    switch.add_argument("branch", metavar="BRANCH")
    update = parsing.verb(
        verbs,
        "update",
        _update,
        "give variables values by hand, through their reducers, as if a step had made them",
        f"{parsing.VALUES}\nReducers are read from annotations: messages: Annotated[list, add].",
    )
    parsing.takes_ref(update)
    update.add_argument("words", metavar="NAME=EXPRESSION", nargs="+")
    update.add_argument("--as", metavar="STEP", dest="step", help="the step that they stand for")
    rerun = parsing.verb(
        verbs, "rerun", _rerun, "run the recorded cells after a checkpoint again, in a new kernel"
    )
    parsing.takes_ref(rerun, nargs="?")
    rerun.add_argument("--fresh", action="store_true", help="replay no model call")
    rerun.add_argument(
        "--all", action="store_true", help="also the cells that the change cannot have reached"
    )
    resume = parsing.verb(
        verbs, "resume", _resume, "a console with the variables of a branch", _RESUME
    )
    resume.add_argument("branch", metavar="BRANCH", nargs="?")
    resume.add_argument(
        "--fallback",
        action="store_true",
        help="the newest whole checkpoint, if the head is damaged",
    )
    resume.add_argument("-c", metavar="CODE", dest="code", help="run this and leave")
    for parser in (rewind, fork, switch, update, rerun, resume):
        parsing.takes_store(parser)
        parsing.takes_notebook(parser)
    for parser in (rewind, fork, switch, update, rerun):
        parsing.takes_json(parser)


def _rewind(arguments: argparse.Namespace) -> int:
    from nbckpt.session import detached

    with writing_session(arguments) as session:
        return _tell(detached.rewind(session, arguments.ref), arguments)


def _switch(arguments: argparse.Namespace) -> int:
    from nbckpt.session import detached

    with writing_session(arguments) as session:
        return _tell(detached.switch(session, arguments.branch), arguments)


def _fork(arguments: argparse.Namespace) -> int:
    from nbckpt.config import assignments
    from nbckpt.session import detached

    words, pieces = assignments.sorted_words(arguments.words)
    if len(words) > 1:
        assignments.refuse_word(words[1], "nbckpt fork REF [BRANCH] [NAME=EXPRESSION …]")
    with writing_session(arguments) as session:
        branch = words[0] if words else None
        moved = detached.fork(session, arguments.ref, branch, assignments.assigned(pieces))
        return _tell(moved, arguments)


def _update(arguments: argparse.Namespace) -> int:
    from nbckpt.config import assignments
    from nbckpt.session import detached

    expressions = assignments.assigned(arguments.words)
    with writing_session(arguments) as session:
        return _tell(
            detached.update(session, arguments.ref, expressions, arguments.step), arguments
        )


def _tell(moved: Any, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print_json(moved.as_record())
    else:
        say(moved.text())
    return DONE


def _rerun(arguments: argparse.Namespace) -> int:
    from nbckpt.jupyter.runner import rerun as headless

    with writing_session(arguments) as session:
        done = headless.rerun(
            session, arguments.ref, fresh=arguments.fresh, everything=arguments.all, tell=warn
        )
    if arguments.json:
        print_json(done)
    else:
        say(headless.text_of(done))
    return NOTEBOOK_FAILED if done["error"] else DONE


def _resume(arguments: argparse.Namespace) -> int:
    from nbckpt.jupyter.console import console
    from nbckpt.timeline.references import unknown_branch

    session = looking_session(arguments)
    branch = arguments.branch or session.position.branch
    if session.timeline.head(branch) is None:
        raise BranchNotFoundError(unknown_branch(session.timeline, branch))
    place, notebook = session.store.path, session.notebook
    session.store.close()
    return console(
        place, branch, notebook=notebook, fallback=arguments.fallback, code=arguments.code
    )
