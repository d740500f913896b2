"""Cases that are wrong on purpose: the harness must find each of them."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "Wrong on purpose"

CASES = (
    Case("is right", "x = [1, 2.0, 'three']"),
    Case(
        "forgets a member",
        """
class Forgets:
    def __init__(self):
        self.kept, self._lost = 1, 2
    def __getstate__(self):
        return {"kept": self.kept}
x = Forgets()
""",
    ),
    Case("differs in a second process", "import random\nx = random.random()"),
    Case(
        "has no digest of its own",
        """
import random
class Drifts:
    def __getstate__(self):
        return {"n": random.random()}
x = Drifts()
""",
        check="pass",
    ),
    Case(
        "is refused for another reason",
        "import threading\nx = threading.Thread(target=threading.Event().wait, daemon=True)\n"
        "x.start()",
        outcome="refused",
        reason="because of the weather",
    ),
    Case(
        "dies",
        """
import os
class Dies:
    def __reduce__(self):
        os._exit(3)
x = Dies()
""",
    ),
)
