"""The TLS context of all https fetches, made from plain values."""

from __future__ import annotations

import ssl

VERSIONS = {
    "TLSv1.0": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}


def make_tls_context(
    *,
    verify: bool = True,
    min_version: str | None = None,
    max_version: str | None = None,
    ciphers: str | None = None,
) -> ssl.SSLContext:
    """A client context. ValueError for a version or cipher list nobody knows.

    Certificates are checked against the system's store, or SSL_CERT_FILE and SSL_CERT_DIR.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if verify:
        context.load_default_certs()
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    # Some servers close the handshake when nothing is offered, or speak HTTP/2 unasked.
    context.set_alpn_protocols(["http/1.1"])
    if min_version:
        context.minimum_version = _version(min_version)
    if max_version:
        context.maximum_version = _version(max_version)
    if ciphers:
        try:
            context.set_ciphers(ciphers)
        except ssl.SSLError as error:
            raise ValueError(f"no TLS cipher is called {ciphers!r}") from error
    return context


def _version(name: str) -> ssl.TLSVersion:
    try:
        return VERSIONS[name]
    except KeyError:
        raise ValueError(f"{name!r} is none of {', '.join(VERSIONS)}") from None
