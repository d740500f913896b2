"""The pictures of the documentation can be made, in both themes, and are small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parent.parent.parent
IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 150_000
SCENES = ("comparison", "panel", "resume", "scrubber", "storyboard", "variable-history")
NAMES = sorted(f"{scene}-{theme}.png" for scene in SCENES for theme in ("dark", "light"))


def test_the_documentation_has_each_picture_in_both_themes() -> None:
    assert sorted(path.name for path in IMAGES.iterdir()) == NAMES
    for path in IMAGES.iterdir():
        assert 10_000 < path.stat().st_size <= MOST_BYTES, path.name


@pytest.mark.long
def test_they_are_made_by_a_script(tmp_path: Path) -> None:
    # A process of its own: Playwright runs once in one.
    command = [sys.executable, "-m", "tests.browser.screenshots", str(tmp_path)]

    subprocess.run(command, cwd=ROOT, check=True, timeout=280)

    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES
    for name in NAMES:
        with Image.open(tmp_path / name) as made, Image.open(IMAGES / name) as kept:
            assert made.size == kept.size
