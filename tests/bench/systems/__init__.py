"""The systems under test, by name; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from tests.bench.systems.base import System

SYSTEMS = {
    "bare": "plain:Bare",
    "nbckpt": "nbckpt_system:Nbckpt",
    "cloudpickle": "dumps:Cloudpickle",
    "dill": "dumps:Dill",
    "joblib": "dumps:Joblib",
    "joblib-lz4": "dumps:JoblibLz4",
    "kishu": "kishu_system:Kishu",
    "kishu-exp": "kishu_system:KishuExperimental",
    "chipmink": "chipmink:Chipmink",
    "rerun": "plain:Rerun",
}

PEERS = tuple(name for name in SYSTEMS if name not in ("bare", "nbckpt", "rerun"))


def system_named(name: str) -> type[System]:
    """The class of a system."""
    module, _, its_class = SYSTEMS[name].partition(":")
    found: type[System] = getattr(import_module(f"tests.bench.systems.{module}"), its_class)
    return found


def split_by_presence(names: list[str]) -> tuple[list[str], dict[str, str]]:
    """The systems that can run here, and what each of the others lacks."""
    lacking = {name: system_named(name).missing() for name in names}
    there = [name for name in names if lacking[name] is None]
    return there, {name: text for name, text in lacking.items() if text is not None}
