"""Texts that are secrets: of the environment, by the look of a provider's key, by a field's name.

The shapes of keys are those that the providers publish, as far as secret scanners know them [1]_.

References
----------
.. [1] GitHub, "Supported secret scanning patterns"; Yelp, "detect-secrets"; RFC 7519 (JWT);
   RFC 7468 (textual encodings of keys); RFC 3986, 3.2.1 (passwords in URLs).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

ADVICE = "have the environment say it, as `os.environ[...]`, or ask for it with `getpass`"
"""To who has written a secret down."""
SHORTEST = 8
"""Characters of the shortest secret: `TOKENIZERS_PARALLELISM=false` is not one."""
LONGEST = 8_192
"""Characters of the longest text that is looked at as a key as a whole."""

_ANY_PROVIDER = "a model's provider"
_KINDS = {
    "Google": r"AIza[0-9A-Za-z_-]{35}",
    "GitHub": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}",
    "Hugging Face": r"hf_[A-Za-z0-9]{30,}",
    "AWS": r"(?:AKIA|ASIA)(?=[A-Z]*[0-9])[0-9A-Z]{16}",
    "Slack": r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    "Groq": r"gsk_[A-Za-z0-9]{40,}",
    "xAI": r"xai-[A-Za-z0-9]{40,}",
    "Replicate": r"r8_[A-Za-z0-9]{37,}",
    "Stripe": r"(?:sk|rk)_live_[A-Za-z0-9]{20,}",
    _ANY_PROVIDER: r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}",
    "JWT": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
}
_PRIVATE_KEY = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"
_URL = r"[A-Za-z][A-Za-z0-9+.-]*://[^/@\s:\"']*:(?P<password>[^/@\s,;\"']{3,})@"
_KEYS = [
    (kind, re.compile(rf"(?:(?:Bearer|Basic|[Tt]oken) )?({shape})"))
    for kind, shape in _KINDS.items()
]
_ANY = re.compile(rf"\b(?:{'|'.join(_KINDS.values())})")
_BLOCK = re.compile(rf"{_PRIVATE_KEY}.*?(?:-----END[^-]*-----|\Z)", re.DOTALL)
_WHOLE_URL = re.compile(rf"{_URL}\S*")
_IN_URL = re.compile(_URL)
BEGINNINGS = "AIza|gh[pousr]_|github_pat_|hf_|AKIA|ASIA|xox|gsk_|xai-|r8_|sk_live|rk_live|sk-|eyJ"
"""Pattern of the beginnings of keys."""
_BEGINS_AS_KEY = re.compile(BEGINNINGS)
_HINT = re.compile(rf"{BEGINNINGS}|PRIVATE KEY-----|://[^/@\s]*:[^/@\s]*@")

_NAME = re.compile(
    r"""(?: .*[_-])? (?: passw(?:or)?d | passwd | passphrase | pwd | secret | credentials? | dsn
    | (?:api|access|secret|private|auth|bearer|client|refresh|session|signing|encryption)
      [_-]? (?:key|token|secret) | authorization(?:[_-]token)? | apikey )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Names of fields of which each value is a secret: `pad_token` and `key` are none."""
_IN_NAMES = (
    *(b"passw", b"passphrase", b"secret", b"credential"),
    *(b"pwd", b"dsn", b"apikey", b"authorization"),
)
"""Parts of names of secrets."""
_OF_WHAT = (
    *(b"api", b"access", b"private", b"auth", b"bearer", b"client"),
    *(b"refresh", b"session", b"account", b"signing", b"encryption"),
)
"""Parts that stand before `key` and `token` there."""
_WITH_DASH = tuple(word + dash for word in _OF_WHAT for dash in (b"_", b"-"))
_SCHEME = re.compile(r"(?:Bearer|Basic|Token) (?=\S+\Z)", re.IGNORECASE)
_OF_ENVIRONMENT = re.compile(
    r"key|token|secret|pass|pwd|credential|dsn|auth|conn|(?:^|_)pat(?:_|$)", re.IGNORECASE
)
_URL_WITH_ANY_PASSWORD = re.compile(r"://[^/@\s:]*:[^/@\s]+@")
_PRIVATE = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
_STANDS_FOR_ANOTHER = re.compile(r"[$<*{%]|(?:env|arn|file|https?|keyring):", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9]+")
_PATH = re.compile(r"[/~.]|[A-Za-z]:\\")


def kind_of_key(text: str) -> str:
    """Whose key a text looks like, as a whole; empty if it looks like none."""
    if not SHORTEST <= len(text) <= LONGEST or _HINT.search(text) is None:
        return ""
    if _BLOCK.match(text.lstrip()):
        return "a private key"
    if _WHOLE_URL.fullmatch(text):
        return "a URL with a password"
    kind = ""
    for each, shape in _KEYS:
        if found := shape.fullmatch(text.strip()):
            kind = each if each != _ANY_PROVIDER or is_random(found[1]) else ""
            break
    return f"a key of {kind}" if kind and kind != "JWT" else kind and "a JWT"


def is_named_secret(name: str, value: str) -> bool:
    """True if the name of a field, variable or member says that its value is a secret."""
    if not SHORTEST <= len(value) <= LONGEST or _NAME.fullmatch(name) is None:
        return False
    return _is_telling(_SCHEME.sub("", value))


def named_in(value: Any) -> set[str]:
    """The texts of JSON that stand under names of secrets, however deep."""
    found: set[str] = set()
    queue = [value]
    while queue:
        each = queue.pop()
        if isinstance(each, Mapping):
            found |= {
                _SCHEME.sub("", inner)
                for name, inner in each.items()
                if isinstance(inner, str) and is_named_secret(name, inner)
            }
            queue += each.values()
        elif isinstance(each, list):
            queue += each
    return found


def names_secrets(text: bytes) -> bool:
    """True if a name of a secret may stand in some text."""
    lowered = text.lower()
    return any(word in lowered for word in _IN_NAMES) or any(
        before.endswith((*_OF_WHAT, *_WITH_DASH))
        for word in (b"key", b"token")
        for before in lowered.split(word)[:-1]
    )


def _is_telling(value: str) -> bool:
    """True if a value stands nowhere by chance: it is neither a word nor a path."""
    if any(map(str.isspace, value)) or _PATH.match(value) or _STANDS_FOR_ANOTHER.match(value):
        return False
    has_digit = any(map(str.isdigit, value))
    return has_digit and any(map(str.isalpha, value))


def is_random(text: str) -> bool:
    """True if a text has a part that nobody would write by chance: no word, name or version."""
    for part in _WORD.findall(text):
        kinds = ["0" if c.isdigit() else "A" if c.isupper() else "a" for c in part]
        changes = sum(one != other for one, other in pairwise(kinds))
        if len(part) >= SHORTEST and "0" in kinds and len({*kinds}) > 1 and changes >= 3:
            return True
    return False


class _Environment:
    """The secrets of the environment, found once for as long as nobody changes it."""

    def __init__(self) -> None:
        self._raw: Mapping[Any, Any] = {}
        self._found: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._compiled_of: Mapping[str, str] | None = None
        self._pattern: re.Pattern[str] | None = None
        self._suspicious: re.Pattern[str] | None = None
        self._suspicious_of: re.Pattern[str] | None = None

    def secrets(self) -> Mapping[str, str]:
        """Each secret → the name that it has there."""
        raw = getattr(os.environ, "_data", os.environ)  # which decodes nothing
        if raw != self._raw:
            found: dict[str, str] = {}
            for name, value in sorted(os.environ.items()):
                if is_secret_of_environment(name, value):
                    found.setdefault(value, name)
            self._raw = dict(raw)
            # Longer ones first: one may be part of another.
            self._found = dict(sorted(found.items(), key=lambda pair: -len(pair[0])))
            passwords = {p: n for v, n in found.items() for p in _passwords_in(v)}
            seen = {**self._seen, **found, **passwords}
            self._seen = dict(sorted(seen.items(), key=lambda pair: -len(pair[0])))
        return self._found

    def seen(self) -> Mapping[str, str]:
        """The same, and what the environment said before, and passwords in URLs of it."""
        self.secrets()
        return self._seen

    def pattern(self) -> re.Pattern[str] | None:
        """What finds one of the secrets in a text; None if there are none."""
        found = self.secrets()
        if found is not self._compiled_of:
            self._compiled_of = found
            self._pattern = re.compile("|".join(map(re.escape, found))) if found else None
        return self._pattern

    def suspicious(self) -> re.Pattern[str]:
        """Pattern of where one of the secrets may stand, or something that looks like a key."""
        pattern = self.pattern()
        if self._suspicious is None or pattern is not self._suspicious_of:
            known = "" if pattern is None else f"|{pattern.pattern}"
            self._suspicious_of = pattern
            self._suspicious = re.compile(f"{_HINT.pattern}{known}")
        return self._suspicious


def _passwords_in(value: str) -> list[str]:
    passwords = (match["password"] for match in _IN_URL.finditer(value))
    return [password for password in passwords if is_random(password)]


_environment = _Environment()
secrets_of_environment = _environment.secrets
secrets_seen = _environment.seen
pattern_of_environment = _environment.pattern
suspicious = _environment.suspicious


def is_private(name: str, value: str) -> bool:
    """True if what the environment says under a name is not written as that variable's value.

    It need not be by chance as what `is_secret_of_environment` finds: nothing else is compared
    with it than members of a client that have such names, too.
    """
    if _URL_WITH_ANY_PASSWORD.search(value):
        return True
    return len(value) >= SHORTEST and _PRIVATE.search(name) is not None


def is_secret_of_environment(name: str, value: str) -> bool:
    """True if a variable of the environment must stand nowhere in what is written."""
    if not SHORTEST <= len(value) <= LONGEST:
        return False
    if kind_of_key(value) or _BLOCK.search(value) or _passwords_in(value):
        return True
    is_key = is_random(value) or _BEGINS_AS_KEY.match(value) is not None
    return is_key and _OF_ENVIRONMENT.search(name) is not None


def kinds_in(text: str) -> list[str]:
    """Whose secrets stand in a text: names of the environment, and what keys look like."""
    found = [
        f"{name} of the environment"
        for secret, name in secrets_of_environment().items()
        if any(form in text for form in forms_of(secret))
    ]
    if _HINT.search(text) is None:
        return found
    for kind, shape in _KINDS.items():
        keys = (found[0] for found in re.finditer(rf"\b(?:{shape})", text))
        if any(kind != _ANY_PROVIDER or is_random(key) for key in keys):
            found.append("a JWT" if kind == "JWT" else f"a key of {kind}")
    if _BLOCK.search(text):
        found.append("a private key")
    if _IN_URL.search(text):
        found.append("a URL with a password")
    return found


@lru_cache(maxsize=256)
def forms_of(secret: str) -> tuple[str, ...]:
    """A secret as it stands in texts: as it is, and within a text of JSON."""
    forms = (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    return tuple(dict.fromkeys(forms))


def redacted(text: str) -> str:
    """A text with stars where a secret was: of the environment, a key, a password in a URL."""
    if len(text) < SHORTEST:
        return text
    for secret in secrets_seen():
        for form in forms_of(secret):
            if form in text:
                text = text.replace(form, "***")
    return text if _HINT.search(text) is None else _without_keys(text)


def _without_keys(text: str) -> str:
    text = _BLOCK.sub("***", _ANY.sub(_starred, text))
    return _IN_URL.sub(_without_password, text)


def _starred(found: re.Match[str]) -> str:
    text = found[0]
    return text if text.startswith("sk-") and not is_random(text) else "***"


def _without_password(found: re.Match[str]) -> str:
    return found[0].replace(f":{found['password']}@", ":***@")


def redacted_json(value: Any) -> Any:
    """JSON with stars in its texts; what is a picture is no text."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {
            redacted(name): inner if _is_picture(name) else redacted_json(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [redacted_json(inner) for inner in value]
    return value


def _is_picture(mime: str) -> bool:
    return mime.partition("/")[0] in ("audio", "image", "video") and "xml" not in mime


def may_have_key(text: str) -> bool:
    """True if something in a text may look like a key."""
    return _HINT.search(text) is not None


def without_keys(data: bytes) -> bytes:
    """Bytes with stars where a text in them looks like a key."""
    text = data.decode("latin-1")  # which has a character for each byte
    return data if _HINT.search(text) is None else _without_keys(text).encode("latin-1")
