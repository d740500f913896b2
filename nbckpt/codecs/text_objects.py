"""Objects of libraries for texts: patterns, documents, tokens, coders, validated functions."""

from __future__ import annotations

import copyreg
import functools
import importlib
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.alive import RefusedError
from nbckpt.fingerprint.values.reducing import set_attributes

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler, Reducer


def item_of(container: Any, key: Any) -> Any:
    """The item of a container at a key."""
    return container[key]


def _reduce_regex(_: object, pattern: Any) -> Any:
    return make_regex, (pattern.pattern, pattern.flags, dict(pattern.named_lists))


def make_regex(pattern: Any, flags: int, lists: dict[str, Any]) -> Any:
    """A pattern of the module `regex`."""
    return importlib.import_module("regex").compile(pattern, flags, **lists)


def _reduce_regex_match(_: object, match: Any) -> Any:
    if match.string is not None and not match.partial:
        what = (match.re, match.string, match.pos, match.endpos)
        for how in ("search", "match", "fullmatch", "finditer"):
            again = make_regex_match(*what, how, match.start())
            if again is not None and again.allspans() == match.allspans():
                return make_regex_match, (*what, how, match.start())
    message = "it cannot be found again in its text"
    raise RefusedError(message)


def make_regex_match(pattern: Any, text: Any, first: int, last: int, how: str, start: int) -> Any:
    """The match that `how` finds; of several, the one that begins at `start`."""
    if how == "finditer":
        found = pattern.finditer(text, first, last)
        return next((match for match in found if match.start() == start), None)
    return getattr(pattern, how)(text, first, last)


def _reduce_span(_: object, span: Any) -> Any:
    names = {"label": span.label_, "kb_id": span.kb_id_, "span_id": span.id_}
    return make_span, (span.doc, span.start, span.end, names)


def make_span(doc: Any, start: int, end: int, names: dict[str, str]) -> Any:
    """A part of a document of spaCy."""
    return importlib.import_module("spacy.tokens").Span(doc, start, end, **names)


def _reduce_token(_: object, token: Any) -> Any:
    return item_of, (token.doc, token.i)


def _reduce_lexeme(_: object, lexeme: Any) -> Any:
    return item_of, (lexeme.vocab, lexeme.text)


def _reduce_vocab(_: object, vocab: Any) -> Any:
    reduce = copyreg.dispatch_table.get(type(vocab))
    reduced: Any = NotImplemented if reduce is None else reduce(vocab)
    if not isinstance(reduced, tuple) or len(reduced) != 2:
        return NotImplemented
    attributes = {"writing_system": vocab.writing_system}
    return *reduced, attributes, None, None, set_attributes


def _reduce_validated(_: object, wrapper: Any) -> Any:
    """Reduce a validated function, without the notebook's namespace that its validator holds."""
    config = dict(wrapper.config_wrapper.config_dict)
    return make_validated, (type(wrapper), wrapper.function, config, wrapper.validate_return)


def make_validated(kind: Any, function: Any, config: dict[str, Any], validates: bool) -> Any:
    """The wrapper that `pydantic.validate_call` puts around a function."""
    return kind(function, config or None, validates, None)


_OF_CODERS = {
    "Encoder": ("enc_hook", "decimal_format", "uuid_format", "order"),
    "Decoder": ("type", "strict", "dec_hook", "float_hook", "ext_hook"),
}


def _reduce_coder(_: object, coder: Any) -> Any:
    """An encoder or a decoder of msgspec, with what it was made with."""
    names = _OF_CODERS[type(coder).__name__]
    return make_coder, (type(coder), {n: getattr(coder, n) for n in names if hasattr(coder, n)})


def make_coder(kind: Any, options: dict[str, Any]) -> Any:
    """An encoder or a decoder."""
    return kind(**options)


def _reduce_token_type(pickler: NamespacePickler, token: Any) -> Any:
    """A kind of tokens is the one object that is found by its names."""
    pickler.private.add(id(token))
    return token_of, (type(token).__module__, *token)


def token_of(module: str, *names: str) -> Any:
    """A kind of tokens of Pygments or sqlparse."""
    return functools.reduce(getattr, names, importlib.import_module(module).Token)


REDUCERS: dict[tuple[str, str], Reducer] = {
    ("_regex", "Pattern"): _reduce_regex,
    ("_regex", "Match"): _reduce_regex_match,
    ("spacy.tokens.span", "Span"): _reduce_span,
    ("spacy.tokens.token", "Token"): _reduce_token,
    ("spacy.lexeme", "Lexeme"): _reduce_lexeme,
    ("spacy.vocab", "Vocab"): _reduce_vocab,
    ("msgspec.json", "Encoder"): _reduce_coder,
    ("msgspec.json", "Decoder"): _reduce_coder,
    ("msgspec.msgpack", "Encoder"): _reduce_coder,
    ("msgspec.msgpack", "Decoder"): _reduce_coder,
    ("pydantic._internal._validate_call", "ValidateCallWrapper"): _reduce_validated,
}
"""By the module and the name of a class; those that derive from one count, too."""

EXACT: dict[tuple[str, str], Reducer] = {
    ("pygments.token", "_TokenType"): _reduce_token_type,
    ("sqlparse.tokens", "_TokenType"): _reduce_token_type,
}
"""The same, of classes whose subclasses may be made otherwise."""
