"""The whole namespace written after every cell: what people script by hand."""

from __future__ import annotations

import importlib
import types
from pathlib import Path
from typing import Any

from tests.bench.systems.base import System, is_ipythons


class _Dumps(System):
    """One file for each cell, which holds every variable."""

    def path(self, cell: int) -> Path:
        return self.folder / f"cell{cell:05d}.bin"

    def dump(self, variables: dict[str, Any], path: Path) -> None:
        raise NotImplementedError

    def load(self, path: Path) -> dict[str, Any]:
        raise NotImplementedError

    def after_cell(self, cell: int, source: str) -> None:
        private_too = {k: v for k, v in self.everything().items() if not is_ipythons(k)}
        self.dump(private_too, self.path(cell))

    def restore(self, cell: int) -> None:
        self.replace_variables(self.load(self.path(cell)))


class Cloudpickle(_Dumps):
    """`cloudpickle.dump`, protocol 5."""

    name = "cloudpickle"
    packages = ("cloudpickle",)

    def start(self, shell: Any) -> None:
        super().start(shell)
        self.pickle = importlib.import_module("cloudpickle")

    def dump(self, variables: dict[str, Any], path: Path) -> None:
        with path.open("wb") as file:
            self.pickle.dump(variables, file, protocol=5)

    def load(self, path: Path) -> dict[str, Any]:
        with path.open("rb") as file:
            found: dict[str, Any] = self.pickle.load(file)
        return found


class Joblib(_Dumps):
    """`joblib.dump`; modules go by name, because plain pickle refuses them."""

    name = "joblib"
    packages = ("joblib",)
    compress: Any = 0

    def start(self, shell: Any) -> None:
        super().start(shell)
        self.joblib = importlib.import_module("joblib")

    def dump(self, variables: dict[str, Any], path: Path) -> None:
        modules = {k: v.__name__ for k, v in variables.items() if isinstance(v, types.ModuleType)}
        values = {k: v for k, v in variables.items() if k not in modules}
        self.joblib.dump({"modules": modules, "values": values}, path, compress=self.compress)

    def load(self, path: Path) -> dict[str, Any]:
        found = self.joblib.load(path)
        modules = {k: importlib.import_module(name) for k, name in found["modules"].items()}
        return modules | found["values"]


class JoblibLz4(Joblib):
    """The same, compressed as quickly as joblib can."""

    name = "joblib-lz4"
    packages = ("joblib", "lz4")
    compress = ("lz4", 3)


class Dill(System):
    """`dill.dump_module` and `load_module`, as a notebook's user would call them."""

    name = "dill"
    packages = ("dill",)

    def start(self, shell: Any) -> None:
        super().start(shell)
        self.dill = importlib.import_module("dill")
        self.names: dict[str, list[str]] = self.read_note("names.json", {})

    def path(self, cell: int) -> str:
        return str(self.folder / f"cell{cell:05d}.dill")

    def after_cell(self, cell: int, source: str) -> None:
        self.dill.dump_module(self.path(cell))

    def mark(self, cell: int) -> None:
        self.names[str(cell)] = sorted(self.variables())

    def finish(self) -> None:
        self.write_note("names.json", self.names)

    def restore(self, cell: int) -> None:
        self.dill.load_module(self.path(cell))
        # load_module leaves the variables that did not exist then; without them it is fair to it.
        for name in self.variables().keys() - set(self.names[str(cell)]):
            del self.shell.user_ns[name]
