"""Names of secrets are found as a plain pattern finds them."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from nbckpt.text.secret_texts import names_secrets

PATTERN = re.compile(
    rb"passw|passphrase|secret|credential|pwd|dsn|apikey|authorization"
    rb"|(?:api|access|private|auth|bearer|client|refresh|session|account|signing|encryption)"
    rb"[_-]?(?:key|token)",
    re.IGNORECASE,
)
WORDS = st.sampled_from(
    ["api", "Access", "private", "AUTH", "account", "_", "-", "key", "Token", "to", "ken", "k", " ",
     "pass", "w", "d", "sn", "SECRET", "keykey", "signing", "\x8c\x07", "e"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=12).map("".join))
@example("api__key")
@example("api-token")
@example("keyapi")
@example("session_keytoken")
def test_names_of_secrets_are_found_as_by_a_pattern(text: str) -> None:
    data = text.encode("latin-1")

    assert names_secrets(data) == (PATTERN.search(data) is not None)
