"""Written parts of a call: its bytes and its recording, without anything secret."""

from __future__ import annotations

import secrets as random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.digests import Digest
from nbckpt.llm.fields import Fields, values_of, without, without_in_answer
from nbckpt.llm.fields import hidden as fields_hidden
from nbckpt.llm.secrets import harmless, redacted, redacted_text, secrets_of, without_keys
from nbckpt.llm.summary import summary_of
from nbckpt.text import secret_texts
from nbckpt.text.content_encodings import decoded, encoding_in
from nbckpt.text.secret_texts import named_in, names_secrets
from nbckpt.timeline.recordings import Headers, Outcome, Recording

if TYPE_CHECKING:
    from nbckpt.llm.call import Call
    from nbckpt.llm.http_request import HttpRequest
    from nbckpt.llm.question import Question
    from nbckpt.llm.request_keys import Canonical
    from nbckpt.session.session import Session

LONGEST_ASKED = 1 << 20
"""Bytes of a request that are kept with its answer."""


class Harmless(NamedTuple):
    """Parts of a call that may be written.

    Attributes
    ----------
    parts
        Of the blob: the request and the answer.
    sizes
        Lengths of the answer's chunks.
    """

    parts: Sequence[bytes | memoryview]
    sizes: Sequence[int]
    headers: Headers
    url: str
    summary: str


def kept_of(call: Call, fields: Fields) -> Harmless:
    """Parts that may be written of a call so far; nothing of the user's `fields`."""
    asked, body = call.question.asked, call.question.body
    hidden = _secrets_of(asked, body, fields)
    data, headers = _answer(b"".join(call.chunks), call.headers, hidden, fields)
    text = _asked(body, hidden, fields)
    return Harmless(
        # By custom a blob's first part is cut by its content: requests that grow share most of it.
        parts=(text, memoryview(data)),
        sizes=list(map(len, call.chunks)) if len(data) == call.size else [len(data)],
        headers=headers,
        url=without_keys(asked.url, hidden, fields),
        summary=secret_texts.redacted(
            redacted_text(summary_of(fields_hidden(body.members, fields)), hidden)
        ),
    )


def asked_of(question: Question, fields: Fields) -> bytes:
    """The body of a request as it is written: nothing if it is too long."""
    asked, body = question.asked, question.body
    return _asked(body, _secrets_of(asked, body, fields), fields)


def _secrets_of(asked: HttpRequest, body: Canonical, fields: Fields) -> list[bytes]:
    """Texts of a request that are not written, of it and of its answer."""
    values = values_of(asked, body, fields)
    if body.members is not None and names_secrets(body.text):
        values |= named_in(body.members)
    return secrets_of(asked, values)


def _asked(body: Canonical, hidden: Sequence[bytes], fields: Fields) -> bytes:
    if len(body.text) > LONGEST_ASKED:
        return b""
    return secret_texts.without_keys(redacted(without(body, fields), hidden))


def recording_of(
    call: Call, kept: Harmless, blob: Digest, state: Outcome, session: Session
) -> Recording:
    """The recording of a call whose bytes are in `blob`."""
    question, usage = call.question, call.usage
    return Recording(
        id=random.token_hex(10),
        step=question.scope.step,
        session=session.id,
        branch=session.position.branch,
        position=session.position.id,
        occurrence=question.occurrence.number,
        request=question.request,
        provider=question.endpoint.provider,
        endpoint=question.endpoint.kind.name,
        model=usage.model or question.model,
        url=kept.url,
        status=call.status,
        headers=kept.headers,
        blob=blob,
        sizes=kept.sizes,
        state=state,
        streamed=call.is_streamed,
        created_at=call.created_at,
        duration_s=round(call.duration_s, 6),
        first_byte_s=call.first_byte_s and round(call.first_byte_s, 6),
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        tokens_reasoning=usage.tokens_reasoning,
        usage=usage.told,
        summary=kept.summary,
        cell_id=question.scope.cell_id,
        item=question.occurrence.item,
        nth=question.occurrence.nth,
        after=question.occurrence.after,
        tags=question.tags,
    )


def _answer(
    data: bytes, headers: Headers, hidden: list[bytes], fields: Fields
) -> tuple[bytes, Headers]:
    """The bytes and headers of an answer to keep: as they came, unless a secret is in them."""
    kept = harmless(headers, hidden)
    encoding = encoding_in(kept)
    text = decoded(data, encoding)
    if text is None:
        return data, kept
    harmless_text = redacted(without_in_answer(text, fields), hidden)
    if harmless_text == text:
        return data, kept
    if not encoding:
        return harmless_text, kept
    told = ("content-encoding", "content-length")
    return harmless_text, [pair for pair in kept if pair[0].lower() not in told]
