"""Where nbckpt lies nothing is the user's, wherever its modules are moved."""

from __future__ import annotations

from pathlib import Path

import nbckpt
from nbckpt.capture.observation.places import Places
from nbckpt.cli.demo import notebook_path
from nbckpt.fingerprint.values.homes import is_user_file
from nbckpt.fingerprint.values.sources import user_modules

FILES = [str(file) for file in Path(nbckpt.__file__).parent.rglob("*.py")]


def test_none_of_nbckpts_modules_is_the_users() -> None:
    assert len(FILES) > 300
    assert not [file for file in FILES if is_user_file(file)]
    assert user_modules("nbckpt") == ()


def test_no_file_of_nbckpt_counts_for_a_cell() -> None:
    places = Places(str(Path(nbckpt.__file__).parents[1]))

    assert not [file for file in FILES if places.counts(file)]


def test_the_demos_notebook_is_there() -> None:
    assert notebook_path().is_file()
