"""Reads that no name in the code shows: modules by name, source, caches, gradients, DuckDB."""

from __future__ import annotations

from nbckpt.fingerprint.code import Names
from nbckpt.fingerprint.keys.gradients import FOLLOWING
from nbckpt.fingerprint.values import default_database
from nbckpt.fingerprint.values.lookups import READERS_OF_SOURCE, imports_by_name, reads_source

_IMPORTING = """
    import_module __import__ importlib.import_module runpy runpy.run_path runpy.run_module
    exec_module load_module find_spec
"""
IMPORTERS = frozenset(_IMPORTING.split())
"""Names that code uses to import a module by its name: loads, attributes and imports."""

_READERS_OF_CACHES = frozenset({"cache_info", "get_referents"})
"""Attributes by which code asks for what a cached function remembers."""


class IndirectReads:
    """The reads of all code that a cell runs which no name in it shows.

    Attributes
    ----------
    texts
        The strings among its constants, as far as they are short.
    attributes
        Names of attributes, variables and modules that it uses.
    imports_by_name
        Whether it may import a module whose name is in a string.
    asks_for_source
        Whether it may ask for the text of code.
    """

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self.attributes: set[str] = set()
        self.imports_by_name = False
        self.asks_for_source = False
        self._asks_duckdb = False

    def of_code(self, names: Names) -> None:
        """Note those that some code can do."""
        asked = names.attributes | names.loads | names.imports
        self.texts |= names.texts
        self.attributes |= asked
        if not asked.isdisjoint(IMPORTERS):
            self.imports_by_name = True
        if not asked.isdisjoint(READERS_OF_SOURCE):
            self.asks_for_source = True

    def of_value(self, value: object) -> None:
        """Note those that a function can do which a variable holds under a name of its own."""
        if imports_by_name(value):
            self.imports_by_name = True
        if reads_source(value):
            self.asks_for_source = True
        if default_database.is_asked_by(value):
            self._asks_duckdb = True

    def of_caches(self) -> bool:
        """True if the code may ask what a cached function remembers."""
        return not self.attributes.isdisjoint(_READERS_OF_CACHES)

    def of_gradients(self) -> bool:
        """True if the code may follow the graphs of torch."""
        return not self.attributes.isdisjoint(FOLLOWING)

    def of_duckdb(self) -> bool:
        """True if the code may ask DuckDB's default connection."""
        if self.attributes.isdisjoint(default_database.FUNCTIONS):
            return False
        return self._asks_duckdb or any(n.split(".")[0] == "duckdb" for n in self.attributes)
