"""Pendulum: times with their fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbckpt.types.adapter import TypeAdapter


def _reduce_moment(moment: Any) -> Any:
    """A time of pendulum with its fold, which its own pickle leaves out."""
    make, arguments, *_rest = moment.__reduce_ex__(5)
    return with_fold, (make, arguments, moment.fold)


def with_fold(make: Callable[..., Any], arguments: tuple[Any, ...], fold: int) -> Any:
    """A time that is the first or the second of its name."""
    return make(*arguments, fold=fold)


ADAPTERS = (TypeAdapter(("pendulum.datetime:DateTime",), exact=True, reduce=_reduce_moment),)
