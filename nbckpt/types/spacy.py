"""spaCy: the parts of a document, and its vocabulary."""

from __future__ import annotations

import copyreg
import importlib
from typing import Any

from nbckpt.types.adapter import TypeAdapter
from nbckpt.types.setters import set_attributes


def _reduce_span(span: Any) -> Any:
    names = {"label": span.label_, "kb_id": span.kb_id_, "span_id": span.id_}
    return make_span, (span.doc, span.start, span.end, names)


def make_span(doc: Any, start: int, end: int, names: dict[str, str]) -> Any:
    """A part of a document of spaCy."""
    return importlib.import_module("spacy.tokens").Span(doc, start, end, **names)


def _reduce_token(token: Any) -> Any:
    return item_of, (token.doc, token.i)


def _reduce_lexeme(lexeme: Any) -> Any:
    return item_of, (lexeme.vocab, lexeme.text)


def item_of(container: Any, key: Any) -> Any:
    """The item of a container at a key."""
    return container[key]


def _reduce_vocab(vocab: Any) -> Any:
    reduce = copyreg.dispatch_table.get(type(vocab))
    reduced: Any = NotImplemented if reduce is None else reduce(vocab)
    if not isinstance(reduced, tuple) or len(reduced) != 2:
        return NotImplemented
    attributes = {"writing_system": vocab.writing_system}
    return *reduced, attributes, None, None, set_attributes


ADAPTERS = (
    TypeAdapter(("spacy.tokens.span:Span",), reduce=_reduce_span),
    TypeAdapter(("spacy.tokens.token:Token",), reduce=_reduce_token),
    TypeAdapter(("spacy.lexeme:Lexeme",), reduce=_reduce_lexeme),
    TypeAdapter(("spacy.vocab:Vocab",), reduce=_reduce_vocab),
)
