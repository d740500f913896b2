"""Contexts of TLS: what they trust and demand, without what only a private key can prove.

A client holds one, and can be kept with it. Certificates of authorities are public, and are kept;
of a certificate of the client's own there is a key beside it, which is written nowhere: such a
context is refused.

Notes
-----
Python does not tell whether a context has a certificate. OpenSSL does [1]_; its own context is the
first member of Python's object, which is made sure of by asking for what Python tells as well.

References
----------
.. [1] https://docs.openssl.org/3.0/man3/SSL_CTX_use_certificate/
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from nbckpt.types.adapter import RefusalError

_SETTINGS = (
    "check_hostname", "verify_mode", "minimum_version", "maximum_version", "options",
    "verify_flags", "post_handshake_auth", "hostname_checks_common_name",
)  # fmt: skip
"""In an order in which each can be set."""


def parts_of(value: object) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """The call that makes a context again, and its arguments; None for anything else.

    Raises
    ------
    RefusalError
        If it holds what cannot be seen, or must not be written.
    """
    ssl: Any = sys.modules.get("ssl")
    if ssl is None or not issubclass(type(value), ssl.SSLContext):
        return None
    context: Any = value
    if type(context) is not ssl.SSLContext:
        return None
    if why := _why_not(context):
        raise RefusalError(why)
    settings = {n: _plain(getattr(context, n)) for n in _SETTINGS if hasattr(context, n)}
    ciphers = [c["name"] for c in context.get_ciphers() if not c["name"].startswith("TLS_")]
    authorities = b"".join(sorted(context.get_ca_certs(binary_form=True)))
    return make_context, (int(context.protocol), settings, ciphers, authorities)


def _plain(setting: Any) -> int | bool:
    return setting if isinstance(setting, bool) else int(setting)


def _why_not(context: Any) -> str:
    """Why a context is not kept; empty if it is."""
    has_certificate = _has_certificate(context)
    if has_certificate is None:
        return "it may hold a private key, which is written nowhere"
    if has_certificate:
        return "it holds a private key, which is written nowhere"
    known = context.cert_store_stats()
    if known["x509"] != known["x509_ca"]:
        return "it trusts a certificate that is no authority's, which it does not tell"
    if not known["x509"] and context.verify_mode and _knows_all_at_once():
        return "it trusts nobody that it tells"
    if known["crl"]:
        return "it holds lists of revoked certificates, which it does not tell"
    if context.sni_callback is not None or context.keylog_filename is not None:
        return "it calls code, or writes keys, at each connection"
    return ""


def _knows_all_at_once() -> bool:
    """True if a usual context names its authorities, and does not look for them when asked."""
    import ssl

    return ssl.create_default_context().cert_store_stats()["x509"] > 0


def _has_certificate(context: Any) -> bool | None:
    """True if a context has a certificate of its own; None if nobody can tell."""
    library = _library()
    if library is None or sys.implementation.name != "cpython":
        return None
    address = ctypes.c_void_p.from_address(id(context) + object.__basicsize__).value
    if not address or library.SSL_CTX_get_options(address) != int(context.options):
        return None
    return library.SSL_CTX_get0_certificate(address) is not None


def _library() -> Any:
    """The OpenSSL that Python uses; None if its functions cannot be called."""
    import _ssl

    try:
        library = ctypes.CDLL(getattr(_ssl, "__file__", None))
        library.SSL_CTX_get_options.restype = ctypes.c_uint64
        library.SSL_CTX_get_options.argtypes = [ctypes.c_void_p]
        library.SSL_CTX_get0_certificate.restype = ctypes.c_void_p
        library.SSL_CTX_get0_certificate.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError, TypeError):
        return None
    return library


def make_context(
    protocol: int, settings: dict[str, Any], ciphers: list[str], authorities: bytes
) -> Any:
    """A context that trusts these authorities; where it knows none, those of the system."""
    import ssl

    context = ssl.SSLContext(protocol)
    if ciphers:
        context.set_ciphers(":".join(ciphers))
    if authorities:
        context.load_verify_locations(cadata=authorities)
    elif settings["verify_mode"] != ssl.CERT_NONE:
        context.set_default_verify_paths()
    context.check_hostname = False  # or `verify_mode` may not become what it was
    context.verify_mode = ssl.VerifyMode(settings["verify_mode"])
    for name, setting in settings.items():
        setattr(context, name, setting)
    return context
