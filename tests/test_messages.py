"""All messages stand in one file, so that they are read beside each other."""

from __future__ import annotations

from tests.messages import KEPT, messages


def test_the_file_has_what_users_are_told() -> None:
    kept = KEPT.read_text(encoding="utf-8").rstrip("\n").splitlines()
    now = [line for line in messages() if line or kept]

    assert now[now[0] == "" :] == kept, "read what is new, then `python -m tests.messages`"


def test_what_is_told_in_the_page_is_among_them() -> None:
    told = set(map(str.strip, messages()))

    for text in ("Bring this value back", "Rewind to %1?", "%1 step changed it"):
        assert text in told
    assert "nothing to resume: branch {branch!r} has no checkpoints yet" in told
