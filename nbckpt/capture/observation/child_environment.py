"""Variables of the environment that only child processes see: `os.environ` does not know them."""

from __future__ import annotations

from typing import Any

put_in_environment: dict[Any, Any] = {}
"""Value that `os.putenv` was last given for each name; None after `os.unsetenv`."""
