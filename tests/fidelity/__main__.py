"""``python -m tests.fidelity``: write the table; with a module, and names: run these cases."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.fidelity import running
from tests.fidelity.cases import cases_of
from tests.fidelity.table import TABLE, table


def main(arguments: list[str]) -> int:
    """Write the table, or run the cases of a module and say what is wrong with them."""
    if not arguments:
        TABLE.write_text(table())
        return 0
    module, *names = arguments
    with tempfile.TemporaryDirectory() as folder:
        found = running.run(module, Path(folder), tuple(names))
    asked = [c for c in cases_of(module).values() if not names or c.name in names]
    wrong = 0
    for case in asked:
        if case.missing:
            print(f"skipped  {case.name}: needs {case.missing}")
        elif problem := found.problem_of(case.name):
            wrong += 1
            print(f"WRONG    {case.name}\n         {problem}")
    print(f"{len(asked)} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
