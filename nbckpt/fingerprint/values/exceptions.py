"""Parts of an exception, beside its arguments: members in C, causes, the way it came."""

from __future__ import annotations

import types
from collections.abc import Iterator

_NO_MEMBERS = frozenset(
    {"__cause__", "__context__", "__suppress_context__", "__traceback__"}
    | {"__dict__", "__weakref__", "__class__", "args"}
)


def members_of(error: BaseException) -> dict[str, object]:
    """Members beside the ``__dict__`` of an exception: ``errno``, slots."""
    members: dict[str, object] = {}
    for base in type(error).__mro__:
        for name, member in vars(base).items():
            if isinstance(member, types.MemberDescriptorType | types.GetSetDescriptorType):
                value = getattr(error, name, None)
                if value is not None and name not in _NO_MEMBERS:
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
    members = [[k, v] for k, v in sorted(members_of(error).items())]
    own = getattr(error, "__dict__", {})
    return [type(error), error.args, members, own, chain, way]
