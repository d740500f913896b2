"""A move leaves what cannot be kept where it is, if its cell would make another and not the same."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.steps import current_session
from tests.jupyter.test_cells import restart, run

SERVER = """
from socket import create_server
class Server:
    def __init__(self):
        self.listening = create_server(("127.0.0.1", 0))
        self.answered = 0
    def answer(self):
        self.answered += 1
    def __del__(self):
        self.listening.close()
server = Server()
"""

LIVING = {
    "a server": SERVER,
    "a thread": "import threading\nserver = threading.Thread(target=threading.Event().wait, args=(9,), daemon=True)\n"
    "server.start(); server.answer = lambda: None",
    "a file that is written": "class File:\n    def answer(self): self.out.write('x')\n"
    "    def __reduce__(self): raise TypeError('no')\n    def __del__(self): self.out.close()\n"
    "server = File(); server.out = open('log.txt', 'w')",
    "a pool": "from concurrent.futures import ThreadPoolExecutor\nclass Pool:\n    def answer(self): pass\n"
    "    def __reduce__(self): raise TypeError('no')\n"
    "server = Pool(); server.pool = ThreadPoolExecutor(1)",
}


@pytest.mark.parametrize("source", LIVING.values(), ids=LIVING)
def test_what_runs_or_speaks_with_others_stays_though_it_was_touched(
    source: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, f"%%checkpoint one\n{source}").raise_error()
    server = shell.user_ns["server"]
    run(shell, "%%checkpoint two\nserver.answer(); n = 1").raise_error()
    capsys.readouterr()

    run(shell, "%rewind one").raise_error()

    assert shell.user_ns["server"] is server
    assert "n" not in shell.user_ns
    assert "left as it is now: server: " in capsys.readouterr().out


@pytest.mark.slow
def test_a_cell_that_switches_finds_it_afterwards(shell: Any) -> None:
    run(shell, f"%%checkpoint one\n{SERVER}").raise_error()
    run(shell, "%%checkpoint two\nserver.answer()").raise_error()
    run(shell, "%fork one other").raise_error()
    run(shell, "%%checkpoint three\nserver.answer()").raise_error()

    run(shell, "%switch main\nserver.listening.close()").raise_error()

    assert shell.user_ns["server"].answered == 2


@pytest.mark.slow
def test_another_object_of_that_name_goes_and_its_cell_makes_it_again(shell: Any) -> None:
    run(shell, f"%%checkpoint one\n{SERVER}").raise_error()
    run(shell, "%%checkpoint two\nserver.answer(); server = Server()").raise_error()
    run(shell, "%rewind one").raise_error()
    was_there = "server" in shell.user_ns

    run(shell, "n = server.answered").raise_error()

    assert not was_there
    assert shell.user_ns["n"] == 0


IN_MEMORY = {
    "a generator": (
        "rows = (i for i in range(9)); next(rows)",
        "next(rows)",
        "found = next(rows)",
        1,
    ),
    "an object with rows": (
        "class Rows(list):\n    def __reduce_ex__(self, _): raise TypeError('no')\nrows = Rows('a')",
        "rows.append('b')",
        "found = len(rows)",
        1,
    ),
    "a database in memory": (
        "import sqlite3\nrows = sqlite3.connect(':memory:'); rows.create_function('f', 0, int)\n"
        "_ = rows.executescript('create table t (a)')",
        "_ = rows.executescript('insert into t values (1)')",
        "found = rows.execute('select count(*) from t').fetchone()[0]",
        0,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("make", "touch", "read", "value"), IN_MEMORY.values(), ids=IN_MEMORY)
def test_what_has_all_its_state_in_memory_is_made_again(
    make: str, touch: str, read: str, value: int, shell: Any
) -> None:
    run(shell, f"%%checkpoint one\n{make}").raise_error()
    run(shell, f"%%checkpoint two\n{touch}").raise_error()
    run(shell, "%rewind one").raise_error()

    run(shell, read).raise_error()

    assert shell.user_ns["found"] == value


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["all", "resumed"])
def test_after_a_restart_a_rewind_leaves_the_one_that_was_made_again(mode: str, shell: Any) -> None:
    cells = (f"%%checkpoint one\n{SERVER}", "%%checkpoint two\nn = 1")
    for cell in cells:
        run(shell, cell).raise_error()
    restart(shell)
    for cell in cells if mode == "all" else ("%resume",):
        run(shell, cell).raise_error()
    run(shell, "%%checkpoint three\nserver.answer()").raise_error()
    server = shell.user_ns["server"]

    run(shell, "%rewind one").raise_error()

    assert shell.user_ns["server"] is server
    run(shell, "%rewind -").raise_error()
    assert shell.user_ns["server"] is server


@pytest.mark.slow
def test_after_a_restart_it_is_that_of_the_cells_that_found_it(shell: Any) -> None:
    cells = (f"%%checkpoint one\n{SERVER}", "%%checkpoint two\nn = 1")
    for cell in cells:
        run(shell, cell).raise_error()
    restart(shell)
    for cell in (*cells, "%%checkpoint three\nserver.answer()"):
        run(shell, cell).raise_error()
    server = shell.user_ns["server"]

    run(shell, "%rewind two").raise_error()

    assert shell.user_ns["server"] is server


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it is not closed
def test_a_restored_cell_is_no_word_of_what_another_cell_made(shell: Any) -> None:
    one, after = "%%checkpoint one\nodd = open('/dev/null')", "%%checkpoint after\npass"
    run(shell, one).raise_error()
    run(shell, "import re\nodd = re.finditer('a', 'banana')").raise_error()
    run(shell, after).raise_error()
    run(shell, one).raise_error()
    run(shell, "pass").raise_error()
    run(shell, after).raise_error()

    run(shell, "%rewind after").raise_error()

    assert "odd" not in shell.user_ns


@pytest.mark.slow
@pytest.mark.parametrize("change", ["rows.append(2)", "[rows.append(i) for i in (2,)]"])
def test_what_holds_what_is_replaced_is_made_again(change: str, shell: Any) -> None:
    run(shell, "%%checkpoint one\nrows = [1]").raise_error()
    run(shell, "%%checkpoint two\nodd = (i for i in rows); print()").raise_error()
    run(shell, f"%%checkpoint three\n{change}").raise_error()
    run(shell, "%rewind two").raise_error()

    run(shell, "rows.append(3); found = list(odd)").raise_error()

    assert shell.user_ns["found"] == [1, 3]


@pytest.mark.slow
@pytest.mark.parametrize("anew", ["rows = [1]", "rows = [1]\nraise StopIteration"])
def test_what_holds_what_a_name_has_no_more_is_made_again(anew: str, shell: Any) -> None:
    run(shell, "%%checkpoint one\nrows = [1]").raise_error()
    run(shell, "%%checkpoint two\nodd = (i for i in rows); print()").raise_error()
    run(shell, anew)
    run(shell, "%rewind two").raise_error()

    run(shell, "rows.append(3); found = list(odd)").raise_error()

    assert shell.user_ns["found"] == [1, 3]


@pytest.mark.slow
def test_a_cell_that_reads_what_stayed_runs(shell: Any) -> None:
    read = "%%checkpoint read\nfound = server.answered"
    run(shell, f"%%checkpoint one\n{SERVER}").raise_error()
    run(shell, read).raise_error()
    run(shell, "server.answer()").raise_error()
    run(shell, "%rewind one").raise_error()

    run(shell, read).raise_error()

    assert shell.user_ns["found"] == 1


@pytest.mark.slow
def test_what_was_left_is_not_kept_alive(shell: Any) -> None:
    run(shell, f"%%checkpoint one\n{SERVER}").raise_error()
    run(shell, "import weakref\nserver.answer(); seen = weakref.ref(server)").raise_error()
    run(shell, "%rewind one").raise_error()
    seen_at = shell.user_ns["server"]

    import weakref

    seen = weakref.ref(seen_at)
    del seen_at
    run(shell, "del server").raise_error()

    assert seen() is None


@pytest.mark.slow
def test_a_thread_that_runs_by_now_is_not_replaced_by_a_copy(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%nbckpt auto on")
    run(
        shell,
        "import threading\nstop = threading.Event()\n"
        "t = threading.Thread(target=stop.wait, daemon=True); timer = threading.Timer(1000, print)",
    ).raise_error()
    begun = shell.user_ns["t"], shell.user_ns["timer"]
    before = current_session.session().position.id
    run(shell, "t.start(); timer.start(); n = 1").raise_error()
    capsys.readouterr()

    run(shell, f"%rewind {before}").raise_error()

    try:
        assert "left as it is now: " in capsys.readouterr().out
        assert "n" not in shell.user_ns
        assert (shell.user_ns["t"], shell.user_ns["timer"]) == begun
        shell.user_ns["stop"].set()
        begun[0].join(10)
        assert not begun[0].is_alive()
    finally:
        begun[1].cancel()


def test_one_that_has_not_begun_comes_back(shell: Any) -> None:
    run(shell, "%nbckpt auto on")
    run(shell, "import threading\nt = threading.Thread(target=print, daemon=True)").raise_error()
    before = current_session.session().position.id
    run(shell, "t.start(); t.join()").raise_error()

    run(shell, f"%rewind {before}").raise_error()

    assert shell.user_ns["t"].ident is None
