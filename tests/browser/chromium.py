"""A Chromium that is installed, driven by Playwright; none is downloaded from a place of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",  # tests run as root in containers
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
]

PATIENCE_MS = 20_000
"""How long a page may take to show something, on a machine that does much else."""


class NoChromiumError(Exception):
    """There is none, and it cannot be installed here."""


def chromium() -> str:
    """Path of a Chromium; where we may, it is installed if there is none."""
    if found := _found():
        return found
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *command], check=True, timeout=280)
        if found := _found():
            return found
    message = "no Chromium: install the package `chromium`, or give its path in NBCKPT_CHROMIUM"
    raise NoChromiumError(message)


def _found() -> str | None:
    wanted = (os.environ.get("NBCKPT_CHROMIUM"), *NAMES)
    return next((path for name in wanted if name and (path := shutil.which(name))), None)


@contextmanager
def browser(profile: Path) -> Iterator[BrowserContext]:
    """A running browser with a profile of its own."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=chromium(),
            headless=True,
            args=ARGUMENTS,
            viewport={"width": 1300, "height": 900},
        )
        try:
            yield context
        finally:
            context.close()
