"""msgspec: encoders and decoders."""

from __future__ import annotations

from typing import Any

from nbckpt.types.adapter import TypeAdapter

_OF_CODERS = {
    "Encoder": ("enc_hook", "decimal_format", "uuid_format", "order"),
    "Decoder": ("type", "strict", "dec_hook", "float_hook", "ext_hook"),
}


def _reduce_coder(coder: Any) -> Any:
    """An encoder or a decoder of msgspec, with what it was made with."""
    names = _OF_CODERS[type(coder).__name__]
    return make_coder, (type(coder), {n: getattr(coder, n) for n in names if hasattr(coder, n)})


def make_coder(kind: Any, options: dict[str, Any]) -> Any:
    """An encoder or a decoder."""
    return kind(**options)


ADAPTERS = (
    TypeAdapter(
        tuple(f"msgspec.{form}:{name}" for form in ("json", "msgpack") for name in _OF_CODERS),
        reduce=_reduce_coder,
    ),
)
