"""The key of a step, and changes in databases and modules that it cannot hold."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from blake3 import blake3

from nbckpt.digests import Digest, digest_of
from nbckpt.errors import UsageError
from nbckpt.fingerprint.code import digest_of_tree, names_of_tree, scripts_of
from nbckpt.fingerprint.keys.inputs import MODULE, Inputs
from nbckpt.fingerprint.values import default_database
from nbckpt.fingerprint.values.modules import loaded
from nbckpt.fingerprint.values.sources import imported_by
from nbckpt.model import Key


def key_of(
    tree: ast.Module,
    namespace: Mapping[str, object],
    *,
    digest_of_variable: Callable[[str], Digest] | None = None,
    deps: Sequence[str | PathLike[str]] = (),
    options: Mapping[str, str] | None = None,
    lacking: Mapping[str, Digest] | None = None,
    kept: Container[str] | None = None,
    met: Callable[[Inputs], object] = lambda _: None,
) -> Key:
    """The key of a cell: all that it depends on, in a namespace as it is before the cell runs.

    Parameters
    ----------
    tree
        The parsed text of the cell, as IPython transformed it.
    namespace
        Where the cell will run.
    digest_of_variable
        The digest of a variable's value, for a caller that has it already. It must be the same in
        every process. By default values are walked; one of more than `inputs.BUDGET` objects gets
        a digest that nothing equals, so that the cell runs.
    deps
        Files that the cell reads; of a folder, every file in it.
    options
        Options of the magic that change what is kept.
    lacking
        Variables that are not there because they could not be kept → digest of what they held;
        nothing if it cannot be told.
    kept
        The variables that are kept; None for all.
    met
        Called with the inputs that were met on the way.

    Raises
    ------
    UsageError
        If one of `deps` is not there.
    """
    names = names_of_tree(tree, namespace)
    inputs = Inputs(namespace, names, digest_of_variable, lacking, kept=kept)
    inputs.of_cell()
    if inputs.indirect.of_caches():
        inputs = Inputs(
            namespace, names, digest_of_variable, lacking, kept=kept, counts_caches=True
        )
        inputs.of_cell()
    met(inputs)
    scripts = _scripts(tree)
    for script in scripts:
        modules, beside = imported_by(Path(script))
        inputs.modules(modules)
        scripts = [*scripts, *map(fspath, beside)]
    return Key(
        code=digest_of_tree(tree),
        inputs=dict(sorted(inputs.variables.items())),
        functions=dict(sorted(inputs.definitions.items())),
        files={fspath(path): _digest_of_file(Path(path)) for path in [*deps, *scripts]},
        options=dict(sorted((options or {}).items())),
    )


def changed_in_modules(key: Key) -> tuple[str, ...]:
    """The variables of the user's modules that are not as they were when `key` was made.

    Those of modules that were not loaded then are none of them: to load these made them.
    """
    names = [n.removeprefix(MODULE) for n in key.functions if n.startswith(MODULE)]
    now = {n: d for name in names for n, d in loaded(name).values.items()}
    known = {name for name in names if any(n.startswith(f"{name}.") for n in key.inputs)}
    mine = {n: d for n, d in now.items() if n.rpartition(".")[0] in known}
    return tuple(n for n, d in sorted(mine.items()) if key.inputs.get(n) != d)


def changed_databases(key: Key) -> tuple[str, ...]:
    """Why a step cannot be restored that changed a database which is in no variable."""
    before = key.inputs.get(default_database.NAME)
    if before is None or before == default_database.digest_of_default():
        return ()
    return (f"it changes {default_database.NAME}, which is not kept",)


def _scripts(tree: ast.Module) -> list[str]:
    """The files that the cell's ``%run`` lines run."""
    named = (word + tail for word in sorted(scripts_of(tree)) for tail in ("", ".py"))
    return [path for path in named if Path(path).is_file()]


def _digest_of_file(path: Path) -> Digest:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        return digest_of(*(f"{p.relative_to(path)} {_digest_of_file(p)}\n" for p in files))
    try:
        return blake3().update_mmap(path).hexdigest()
    except OSError as error:
        message = f"cannot read '{path}', which --deps names: {error.strerror or error}"
        raise UsageError(message) from error
