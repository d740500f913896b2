"""What is kept is loaded once at once, and what would not come back is refused then."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any

import pytest

from nbckpt.capture.groups.trial_lessons import MOST_TIMES
from nbckpt.capture.trials.prints import print_of
from nbckpt.model import Variable
from nbckpt.runtime import sandbox
from nbckpt.steps import current_session
from tests.notebooks import refusals, restart, resumed, run

pytestmark = pytest.mark.skipif(bool(sandbox.why_none()), reason="no copies of processes here")


def kept(name: str) -> Variable:
    variable = current_session.session().workspace.capturer.kept_as(name)
    assert variable is not None
    return variable


LIBRARY = """
class Careless:
    '''Its pickle leaves out what was changed since.'''
    __slots__ = ("_n",)
    def __init__(self, n=0): self._n = n
    @property
    def n(self): return self._n
    def __reduce__(self): return Careless, ()
class Late:
    '''It is written, and does not load.'''
    def __reduce__(self): return int, ("no number",)
class Loses:
    def __init__(self): self.kept, self.lost = [1], {"a": (2, 3)}
    def __getstate__(self): return {"kept": self.kept}
    def __setstate__(self, state): self.__dict__.update(state)
class Handle:
    '''A part of a whole, which its pickle copies.'''
    def __init__(self, whole): self.whole = whole
    def __reduce__(self): return Handle, (Whole(self.whole.name),)
class Whole:
    def __init__(self, name): self.name = name; self.first = Handle(self)
    def __reduce__(self): return Whole, (self.name,)
class Never:
    def __reduce__(self): return forever, ()
def forever():
    while True: pass
class Dies:
    def __reduce__(self): return die, ()
def die():
    import os; os._exit(3)
class Acts:
    def __reduce__(self): return act, ()
def act():
    open("acted.txt", "w").close(); return Acts()
class Restless:
    '''It shows another number each time, and another address.'''
    count = 0
    @property
    def number(self): Restless.count += 1; return Restless.count
    def __repr__(self): return f"<Restless at {id(self)} {hex(id(self))}>"
    def __reduce__(self): return Restless, ()
class Wrapper:
    def __init__(self, inner): self.inner = inner
    def __getattr__(self, name): return getattr(self.inner, name)
"""


@pytest.fixture
def library(shell: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that is a library's, and no file beside the notebook."""
    from types import ModuleType

    module = ModuleType("carelesslib")
    module.__spec__ = sys.__spec__
    exec(compile(LIBRARY, "/usr/lib/carelesslib.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "carelesslib", module)
    return shell


def made(shell: Any, name: str, *lines: str) -> None:
    run(shell, "\n".join(["%nbckpt auto on", "import carelesslib as lib"]))
    run(shell, "\n".join([f"v = lib.{name}", *lines]))


@pytest.mark.slow
def test_what_does_not_load_is_refused_at_once_and_costs_nothing_else(
    library: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made(library, "Wrapper(0)", "v = [lib.Late()]; other = [1]")

    assert "cannot be made again from what is kept of it (ValueError" in refusals()["v"]
    assert "not kept: v: list cannot be made again" in capsys.readouterr().out
    assert resumed(library)["other"] == [1]


def test_a_number_of_many_digits_has_a_print_like_any_other() -> None:
    large = 10**6000

    assert print_of([large]) == print_of([10**6000])
    assert print_of([large]) != print_of([large + 1])


def test_what_comes_back_as_another_is_refused_with_what_differs(library: Any) -> None:
    made(library, "Wrapper(0)", "v = {'it': lib.Careless(5)}")

    assert refusals()["v"] == "does not come back as it is: v['it'].n is 5 and comes back as 0"


@pytest.mark.slow
def test_another_way_is_taken_where_one_loses_something(library: Any) -> None:
    made(library, "Careless(5)")

    assert refusals() == {}
    assert kept("v").recipe
    assert resumed(library)["v"].n == 5


@pytest.mark.slow
def test_plain_members_that_a_pickle_leaves_out_are_kept_beside_it(library: Any) -> None:
    made(library, "Loses()", "v.lost['b'] = 4")
    run(library, "v.lost['c'] = 5")

    assert refusals() == {}
    assert resumed(library)["v"].lost == {"a": (2, 3), "b": 4, "c": 5}


@pytest.mark.slow
def test_a_handle_that_would_be_of_another_whole_is_refused(library: Any) -> None:
    made(library, "Whole('w')", "part = v.first")

    assert "part.whole is v, and comes back as another" in refusals()["part"]
    assert "v.first is part, and comes back as another" in refusals()["v"]


@pytest.mark.slow
def test_a_load_that_never_ends_holds_no_cell_for_ever(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbckpt.capture.trials import trial_run

    monkeypatch.setattr(trial_run, "LONGEST_S", 0.5)

    made(library, "Never()", "other = 1")

    assert "v" not in refusals()  # nobody can tell
    assert current_session.session().workspace.capturer.encoder.trials.untold == {
        "it did not end in time": 1
    }


@pytest.mark.slow
def test_what_ends_or_holds_a_copy_costs_what_is_tried_beside_it_nothing(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbckpt.capture.trials import trial_run

    monkeypatch.setattr(trial_run, "LONGEST_S", 0.5)
    copies: list[object] = []
    in_a_copy = sandbox.in_a_copy
    monkeypatch.setattr(sandbox, "in_a_copy", lambda *a: copies.append(a) or in_a_copy(*a))
    many = "; ".join(f"g{n} = [lib.Restless()]" for n in range(40))

    made(library, "Dies()", many, "h = lib.Never(); late = [lib.Late()]; n = lib.Careless(5)")

    assert set(refusals()) == {"late"}
    assert kept("n").recipe
    untold = current_session.session().workspace.capturer.encoder.trials.untold
    assert untold == {"the copy died": 1, "it did not end in time": 1}
    assert len(copies) < 10


@pytest.mark.slow
def test_values_that_all_take_long_hold_a_cell_no_longer_than_they_may(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbckpt.capture.trials import trial_run

    monkeypatch.setattr(trial_run, "LONGEST_S", 0.5)
    monkeypatch.setattr(trial_run, "MOST_S", 1.0)
    lib = sys.modules["carelesslib"]
    exec("import time\ndef slow(): time.sleep(0.3); return 1", lib.__dict__)
    for n in range(12):
        exec(f"class Slow{n}:\n    def __reduce__(self): return slow, ()", lib.__dict__)
    began = time.monotonic()

    made(library, "Slow0()", "; ".join(f"s{n} = [lib.Slow{n}()]" for n in range(12)))

    assert time.monotonic() - began < 3.0
    untold = current_session.session().workspace.capturer.encoder.trials.untold
    assert untold["there was no time"] == 1


def test_what_a_copy_writes_by_itself_is_no_word_of_its_work() -> None:
    def work(say: sandbox.Say) -> dict[str, Any]:
        for descriptor in range(3, 40):
            with contextlib.suppress(OSError):
                os.write(descriptor, b'5\n[]\n{"a": 1}\nno end')
        say(1)
        return {"done": True}

    assert sandbox.in_a_copy(work, 10) == ({"done": True}, [1])


def test_a_trial_changes_nothing_outside(library: Any, tmp_path: Any) -> None:
    made(library, "Acts()")

    assert not (tmp_path / "acted.txt").exists()
    assert current_session.session().workspace.capturer.encoder.trials.untold == {
        "it wants open": 1
    }


def test_what_is_another_at_each_look_is_kept(library: Any) -> None:
    made(library, "Restless()")

    assert refusals() == {}
    assert library.user_ns["lib"].Restless.count == 0  # its property ran in the copy alone


@pytest.mark.slow
def test_a_wrapper_that_asks_what_it_wraps_for_everything_comes_back(library: Any) -> None:
    made(library, "Wrapper([1, 2])", "more = lib.Wrapper(lib.Wrapper({'a': 1}))")

    assert refusals() == {}
    namespace = resumed(library)
    assert namespace["v"].index(2) == 1
    assert namespace["more"].get("a") == 1


@pytest.mark.slow
def test_a_type_is_tried_once(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made(library, "Restless()")
    copies: list[object] = []

    def in_a_copy(*given: object) -> sandbox.Told:
        copies.append(given)
        return sandbox.Told({"why": "a test"}, [])

    monkeypatch.setattr(sandbox, "in_a_copy", in_a_copy)

    run(library, "w = [lib.Restless()]")
    run(library, "class Own:\n    pass\nx = Own(); y = {1: [x]}")

    assert copies == []


@pytest.mark.slow
def test_a_statement_is_tried_again_when_its_value_changed(auto: Any) -> None:
    run(auto, "import httpx\nv = httpx.Client(headers={'a': 'b'})")
    assert kept("v").recipe

    run(auto, "v.headers['x'] = 'y'; v.timeout = 3.0; v.cookies.set('s', '1')")

    assert refusals() == {}
    assert not kept("v").recipe
    client = resumed(auto)["v"]
    assert (client.headers["x"], client.timeout.read, client.cookies["s"]) == ("y", 3.0, "1")


@pytest.mark.slow
def test_a_closed_client_comes_back_closed(auto: Any) -> None:
    run(auto, "import httpx\nv = httpx.Client(); v.close()")

    assert resumed(auto)["v"].is_closed


@pytest.mark.slow
def test_clients_in_containers_come_back_with_all_that_they_trust(auto: Any) -> None:
    run(auto, "import openai\nv = {k: openai.OpenAI(api_key=k, max_retries=9) for k in 'ab'}")
    context = auto.user_ns["v"]["a"]._client._transport._pool._ssl_context
    trusted = context.cert_store_stats()

    clients = resumed(auto)["v"]

    assert [(c.api_key, c.max_retries) for c in clients.values()] == [("a", 9), ("b", 9)]
    again = clients["a"]._client._transport._pool._ssl_context
    assert again.cert_store_stats() == trusted
    assert (again.verify_mode, again.check_hostname) == (context.verify_mode, True)


@pytest.mark.slow
def test_a_key_of_the_environment_is_not_written(
    auto: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    run(auto, "import openai\nv = [openai.OpenAI()]")
    current_session.session().wait()
    written = b"".join(
        p.read_bytes() for p in current_session.session().store.path.rglob("*") if p.is_file()
    )
    assert b"very-secret" not in written

    assert resumed(auto)["v"][0].api_key == "sk-very-secret-0123"

    monkeypatch.delenv("OPENAI_API_KEY")
    restart(auto)
    run(auto, "%resume")
    assert "v" not in auto.user_ns


def test_a_context_with_a_private_key_is_refused(auto: Any, tmp_path: Any) -> None:
    from tests.capture.trials.certificates import write_certificate

    write_certificate(tmp_path / "own.pem")
    run(auto, "import ssl\nv = [ssl.create_default_context()]\nv[0].load_cert_chain('own.pem')")

    assert "private key" in refusals()["v"]


def test_what_a_class_says_itself_of_what_comes_back_is_its_word(auto: Any) -> None:
    run(
        auto,
        """
        class Door:
            def __init__(self): self.is_open, self.handle, self.n = True, object(), 3
            def __getstate__(self): return {"n": self.n}
            def __setstate__(self, state): self.__dict__.update(state, is_open=False, handle=None)
        v = Door()
        """,
    )

    assert refusals() == {}
    door = resumed(auto)["v"]
    assert (door.n, door.is_open, door.handle) == (3, False, None)


def test_what_is_random_each_time_is_no_difference(auto: Any) -> None:
    run(
        auto,
        """
        import uuid
        from functools import cached_property
        class Own:
            def __getstate__(self): return {}
            @cached_property
            def key(self): return uuid.uuid4().hex
            @property
            def other(self): return self.key
        v = [Own()]; _ = v[0].key
        """,
    )

    assert refusals() == {}


@pytest.mark.slow
def test_a_changed_client_in_a_container_is_kept_with_it(auto: Any) -> None:
    run(auto, "import httpx\nh = httpx.Client(); held = {'h': h, 'n': 0}")
    run(auto, "h.headers['x'] = 'y'; held['n'] = 1")

    namespace = resumed(auto)

    assert namespace["held"]["n"] == 1
    assert namespace["held"]["h"] is namespace["h"]
    assert namespace["h"].headers["x"] == "y"


@pytest.mark.slow
def test_what_python_does_to_threads_in_a_copy_is_no_difference(auto: Any) -> None:
    run(
        auto,
        """
        import logging, threading
        class Watch:
            def __init__(self):
                self.log = logging.getLogger("x"); self.timer = threading.Timer(9, print)
        v = Watch()
        """,
    )

    assert refusals() == {}
    assert "initial" in repr(resumed(auto)["v"].timer)


@pytest.mark.slow
def test_the_text_of_a_debugger_is_no_difference(auto: Any) -> None:
    run(
        auto,
        """
        from typing import Literal, Union
        from pydantic import BaseModel, TypeAdapter
        class User(BaseModel):
            name: str
        class Cat(BaseModel):
            kind: Literal["cat"]
        v = TypeAdapter(list[Union[User, Cat]])
        made = v.validate_python([{"name": "x"}])
        """,
    )

    assert refusals() == {}
    back = resumed(auto)
    assert type(back["made"][0]) is back["User"]
    assert type(back["v"].validate_python([{"kind": "cat"}])[0]) is back["Cat"]


@pytest.mark.slow
def test_of_a_group_only_what_does_not_come_back_is_refused(library: Any) -> None:
    lines = "one = [1]; v = [lib.Careless(5), one]; w = [lib.Late(), one]; two = {'one': one}"
    made(library, "Wrapper(0)", lines)

    assert sorted(refusals()) == ["v", "w"]
    back = resumed(library)
    assert back["two"]["one"] is back["one"]


@pytest.mark.slow
def test_what_looks_for_itself_under_its_own_name_is_refused(auto: Any) -> None:
    run(
        auto,
        """
        pool = {}
        class Named:
            def __init__(self, name): self.name = name; pool[name] = self
            def __reduce__(self): return get, (self.name,)
        def get(name): return pool[name]
        v = Named("a")
        other = [1]
        """,
    )

    assert sorted(refusals()) == ["pool", "v"]
    assert "name 'pool' is not defined" in refusals()["v"]
    assert resumed(auto)["other"] == [1]


@pytest.mark.slow
def test_members_that_a_later_object_of_a_class_has_are_kept(library: Any) -> None:
    made(library, "Loses()")
    run(library, "v.later = [5]")
    run(library, "w = lib.Loses(); w.other = (6,)")

    assert refusals() == {}
    back = resumed(library)
    assert (back["v"].later, back["w"].other) == ([5], (6,))


@pytest.mark.slow
def test_a_class_that_takes_all_members_in_is_tried_a_few_times(
    auto: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(
        auto,
        """
        class Takes:
            def __getstate__(self): return dict(self.__dict__)
        v = Takes()
        """,
    )
    copies: list[object] = []
    in_a_copy = sandbox.in_a_copy
    monkeypatch.setattr(sandbox, "in_a_copy", lambda *a: copies.append(a) or in_a_copy(*a))

    for n in range(MOST_TIMES + 5):
        run(auto, f"v.a{n} = {n}")

    assert 0 < len(copies) <= MOST_TIMES
    assert resumed(auto)["v"].a24 == 24


@pytest.mark.slow
def test_code_that_raises_an_interrupt_when_it_is_loaded_is_refused(auto: Any) -> None:
    run(
        auto,
        """
        class Stops:
            def __getstate__(self): return {"a": 1}
            def __setstate__(self, state): raise KeyboardInterrupt
        v = Stops(); other = 3
        """,
    )

    assert "KeyboardInterrupt" in refusals()["v"]
    assert resumed(auto)["other"] == 3
