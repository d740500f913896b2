"""Chipmink, a research prototype that is on no package index.

Set ``CHIPMINK_SRC`` to a checkout whose two extensions were built in place. Its variables live in
a dict of its own, so cells run there with `exec`, as in its own benchmark: magics and `await` do
not work. It writes on a thread: `after_cell` costs what a user waits for, `finish` joins the rest.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import sys
import types
from typing import Any

from tests.bench.systems.base import System, is_user_name

UNUSED = ("redis", "pymongo", "neo4j", "xdelta3", "graphviz", "xgboost", "lightgbm")
"""What it imports for experiments that are not run here."""


class Chipmink(System):
    """With asynchronous writing and its filter for what is active."""

    name = "chipmink"

    @classmethod
    def missing(cls) -> str | None:
        return None if os.environ.get("CHIPMINK_SRC") else "CHIPMINK_SRC is not set"

    def start(self, shell: Any) -> None:
        super().start(shell)
        _stand_in_for_unused()
        sys.path.insert(0, os.environ["CHIPMINK_SRC"])
        import pod  # type: ignore[import-not-found]  # noqa: F401  # first: puts its own pickle in
        from loguru import logger  # type: ignore[import-not-found]
        from pod._pod import AsyncPodObjectStorage  # type: ignore[import-not-found]
        from pod.pickling import (  # type: ignore[import-not-found]
            ManualPodding,
            StaticPodPickling,
        )
        from pod.static import AllowlistStaticCodeChecker  # type: ignore[import-not-found]
        from pod.storage import FilePodStorage  # type: ignore[import-not-found]

        logger.remove()
        self.checker = AllowlistStaticCodeChecker()
        pickling = StaticPodPickling(
            FilePodStorage(self.folder / "pods"),
            podding_fn=ManualPodding.podding_fn,
            post_podding_fn=None,
        )
        self.store = AsyncPodObjectStorage(pickling, active_filter=True, always_lock_all=False)
        self.namespace = self._fresh({})
        self.last: Any = None
        self.ids: dict[str, Any] = self.read_note("ids.json", {})

    def _fresh(self, values: dict[str, Any]) -> Any:
        namespace = self.store.new_managed_namespace(values)
        namespace["__spec__"] = None
        namespace["__builtins__"] = builtins.__dict__
        return namespace

    def run_cell(self, source: str) -> BaseException | None:
        try:
            code = compile(ast.parse(source), "<cell>", "exec")
            with self.namespace.set_managed(False):
                static = self.checker.is_static(source, self.namespace)
            with self.namespace.set_managed(not static):
                exec(code, self.namespace, self.namespace)
        except Exception as error:
            return error
        return None

    def after_cell(self, cell: int, source: str) -> None:
        self.last = self.store.save(self.namespace)

    def mark(self, cell: int) -> None:
        self.ids[str(cell)] = self.last

    def finish(self) -> None:
        self.store.join()
        self.write_note("ids.json", self.ids)

    def restore(self, cell: int) -> None:
        self.store.join()
        found = self.store.load(self.ids[str(cell)])
        self.namespace = self._fresh({k: v for k, v in found.items() if is_user_name(k)})

    def everything(self) -> dict[str, Any]:
        return dict(dict.items(self.namespace))

    def stored_bytes(self) -> int:
        self.store.join()
        return super().stored_bytes()


def _stand_in_for_unused() -> None:
    for name in UNUSED:
        if importlib.util.find_spec(name) is None:
            module = types.ModuleType(name)
            module.__getattr__ = lambda attribute: type(attribute, (), {})  # type: ignore[method-assign]
            sys.modules[name] = module
