"""Reads a pickle that anybody may have written: the opcodes that nbckpt's streams have, no others.

Python's own unpickler calls what a stream names with what it says, and sets what it says on what
comes out. Here a name stands for a function of ours, or for nothing; a state goes to a function of
ours as well; nothing is imported, no attribute looked up and none set because a stream says so.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from nbckpt.codecs.plain.columns import is_worked_out
from nbckpt.codecs.plain.filling import Filling
from nbckpt.codecs.plain.names import Known, Pending, find, told
from nbckpt.codecs.plain.stack import F8, I4, U2, U4, U8, require_value
from nbckpt.errors import FormatError, NbckptError, UntrustedError


class Machine(Filling):
    """Builds the value of one stream."""

    def load(self) -> object:
        """The value.

        Raises
        ------
        UntrustedError
            If it is more than plain.
        FormatError
            If this is no stream that nbckpt writes.
        """
        stream, end = self._stream, len(self._stream)
        try:
            for _ in range(self._most_steps):
                if self._at >= end:
                    break
                opcode = stream[self._at]
                self._at += 1
                if opcode == _STOP:
                    return self._only_value()
                step = _STEPS.get(opcode)
                if step is None:
                    message = f"it has the opcode {opcode:#04x}, which nbckpt does not write"
                    raise UntrustedError(message)
                step(self)
        except (NbckptError, MemoryError):
            raise
        except (IndexError, struct.error, UnicodeDecodeError, StopIteration) as error:
            message = f"its stream is damaged at byte {self._at}"
            raise FormatError(message) from error
        except Exception as error:  # what the makers of values say of arguments that are wrong
            message = f"it cannot be read without trust: {type(error).__name__}: {error}"
            raise UntrustedError(message[:_LONGEST]) from error
        message = "its stream ends in the middle"
        raise FormatError(message)

    def _only_value(self) -> object:
        (value,) = self._stack
        if self._marked:
            raise IndexError
        require_value(value)
        return value

    # -- tuples, and what is named ------------------------------------------------------------

    def _tuple(self, size: int | None) -> None:
        if size is None:
            items = self._to_mark()
        elif size > len(self._stack):
            raise IndexError
        else:
            items = self._stack[-size:]
            del self._stack[-size:]
            if not self._is_setting(items):
                for item in items:
                    require_value(item)
        group = tuple(items)
        self._limits.weigh(group)
        self._stack.append(group)

    def _global(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        known = find(module, name)
        if known.value is None:
            self._stack.append(known)
            return
        self._called[id(known.value)] = known
        self._stack.append(known.value)

    def _is_setting(self, items: list[Any]) -> bool:
        """True if these are a value that is not complete, and the state that a call gives it."""
        if len(items) != 2 or type(items[0]) is not Pending or type(items[1]) is Pending:
            return False
        require_value(items[1])
        setter = self._stack[-1]
        return type(setter) is Known and setter.settles

    def _call(self) -> None:
        arguments, known = self._popped_call()
        if known.make is None:
            raise UntrustedError(told("", known.name))
        self._limits.charge(arguments)
        if not known.settles:
            self._stack.append(known.make(self._limits, arguments))
            return
        pending, state = arguments
        if self._stack[-1] is not pending:
            raise IndexError
        self._stack[-1] = self._completed(pending, state, known)
        self._stack.append(None)

    def _completed(self, pending: Pending, state: Any, known: Known | None = None) -> object:
        value = pending.complete(state)
        if known is not None and known.make is not None:
            value = known.make(self._limits, (value,))
        for slot in pending.slots:
            self._memo[slot] = value
        return value

    def _new(self) -> None:
        arguments, known = self._popped_call()
        if known.new is None:
            raise UntrustedError(told("", known.name))
        self._limits.charge(arguments)
        self._stack.append(known.new(self._limits, arguments))

    def _popped_call(self) -> tuple[tuple[Any, ...], Known]:
        arguments, called = self._stack.pop(), self._stack.pop()
        if type(arguments) is not tuple:
            raise IndexError
        known = called if type(called) is Known else self._called.get(id(called))
        if known is None:
            message = f"it calls a {type(called).__name__}"
            raise UntrustedError(message)
        return arguments, known

    def _build(self) -> None:
        state, pending = self._stack.pop(), self._stack.pop()
        require_value(state)
        if type(pending) is not Pending:
            if is_worked_out(pending, state):
                self._stack.append(pending)
                return
            message = f"it changes the state of a {type(pending).__name__}"
            raise UntrustedError(message)
        self._limits.charge((state,))
        self._stack.append(self._completed(pending, state))

    def _next_buffer(self) -> None:
        self._stack.append(next(self._buffers))

    def _read_only(self) -> None:
        buffer = self._stack[-1]
        if type(buffer) is not memoryview:
            raise IndexError
        if not buffer.readonly:
            self._stack[-1] = buffer.toreadonly()


_LONGEST = 500
_SET_BYTES = 150
"""Bytes of an empty set beyond those that are counted for each byte of a stream."""


def _push(make: Callable[[Machine], object]) -> Callable[[Machine], None]:
    def step(machine: Machine) -> None:
        machine._stack.append(make(machine))  # its own table of opcodes

    return step


def _text(size: Callable[[Machine], int]) -> Callable[[Machine], None]:
    return _push(lambda m: str(m._take(size(m)), "utf-8", "surrogatepass"))


def _bytes(size: Callable[[Machine], int]) -> Callable[[Machine], None]:
    return _push(lambda m: m._take(size(m)))


def _long(size: Callable[[Machine], int]) -> Callable[[Machine], None]:
    return _push(lambda m: int.from_bytes(m._take(size(m)), "little", signed=True))


def _new_set(machine: Machine) -> set[Any]:
    machine._limits.spend(_SET_BYTES)
    return set()


# ruff: noqa: SLF001  # below is the machine's own table of opcodes
_STOP = ord(".")
_STEPS: dict[int, Callable[[Machine], None]] = {
    0x80: Machine._protocol,
    0x95: Machine._frame,
    ord("("): Machine._mark,
    ord("0"): Machine._pop,
    ord("1"): Machine._pop_to_mark,
    ord("N"): _push(lambda _: None),
    0x88: _push(lambda _: True),
    0x89: _push(lambda _: False),
    ord("J"): _push(lambda m: m._number(I4)),
    ord("K"): _push(Machine._byte),
    ord("M"): _push(lambda m: m._number(U2)),
    0x8A: _long(Machine._byte),
    0x8B: _long(lambda m: m._number(U4)),
    ord("G"): _push(lambda m: m._number(F8)),
    ord("X"): _text(lambda m: m._number(U4)),
    0x8C: _text(Machine._byte),
    0x8D: _text(lambda m: m._number(U8)),
    ord("B"): _bytes(lambda m: m._number(U4)),
    ord("C"): _bytes(Machine._byte),
    0x8E: _bytes(lambda m: m._number(U8)),
    0x96: _push(lambda m: bytearray(m._take(m._number(U8)))),
    ord("]"): _push(lambda _: []),
    ord(")"): _push(lambda _: ()),
    ord("}"): _push(lambda _: {}),
    0x8F: _push(_new_set),
    ord("a"): Machine._append,
    ord("e"): Machine._appends,
    ord("s"): Machine._set_item,
    ord("u"): Machine._set_items,
    0x90: Machine._add_items,
    0x91: Machine._frozenset,
    ord("t"): lambda m: m._tuple(None),
    0x85: lambda m: m._tuple(1),
    0x86: lambda m: m._tuple(2),
    0x87: lambda m: m._tuple(3),
    0x94: Machine._memoize,
    ord("h"): lambda m: m._get(m._byte()),
    ord("j"): lambda m: m._get(m._number(U4)),
    0x93: Machine._global,
    ord("R"): Machine._call,
    0x81: Machine._new,
    ord("b"): Machine._build,
    0x97: Machine._next_buffer,
    0x98: Machine._read_only,
}
