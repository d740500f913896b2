"""What stands here for an environment of its own is not looked through in this one."""

from __future__ import annotations

collect_ignore_glob = ["*_ways.py"]
