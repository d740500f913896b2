"""What an exception is made of, beside its arguments: members in C, causes, the way it came."""

from __future__ import annotations

import types
from collections.abc import Iterator

_CHAIN = ("__cause__", "__context__", "__suppress_context__", "__traceback__")


def members_in_c(error: BaseException) -> dict[str, object]:
    """The members that a built-in class gives an exception, and that are set, as ``errno``."""
    members: dict[str, object] = {}
    for base in type(error).__mro__:
        if base.__module__ != "builtins" or base is object:
            continue
        for name, member in vars(base).items():
            if isinstance(member, types.MemberDescriptorType | types.GetSetDescriptorType):
                value = getattr(error, name, None)
                if value is not None and name not in (*_CHAIN, "__dict__", "args"):
                    members.setdefault(name, value)
    return members


def steps_of(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    """The entries of a traceback, outermost first."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def parts_of_exception(error: BaseException) -> list[object]:
    """All that tells an exception, as parts that a walk can digest; of files only their lines."""
    way = [[t.tb_frame.f_code.co_name, t.tb_lineno] for t in steps_of(error.__traceback__)]
    chain = [error.__cause__, error.__context__, error.__suppress_context__]
    members = [[k, v] for k, v in sorted(members_in_c(error).items())]
    own = getattr(error, "__dict__", {})
    return [type(error), error.args, members, own, chain, way]
