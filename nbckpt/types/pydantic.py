"""Pydantic: functions whose arguments are validated."""

from __future__ import annotations

from typing import Any

from nbckpt.types.adapter import TypeAdapter


def _reduce_validated(wrapper: Any) -> Any:
    """Reduce a validated function, without the notebook's namespace that its validator holds."""
    config = dict(wrapper.config_wrapper.config_dict)
    return make_validated, (type(wrapper), wrapper.function, config, wrapper.validate_return)


def make_validated(kind: Any, function: Any, config: dict[str, Any], validates: bool) -> Any:
    """The wrapper that `pydantic.validate_call` puts around a function."""
    return kind(function, config or None, validates, None)


ADAPTERS = (
    TypeAdapter(
        ("pydantic._internal._validate_call:ValidateCallWrapper",), reduce=_reduce_validated
    ),
)
