"""From Scrapy settings to the values this package is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawler.config import Config, parse_hosts
from webcrawler.download.limits import Limits
from webcrawler.download.tls import VERSIONS
from webcrawler.exceptions import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]  # tested below


@dataclass(frozen=True, slots=True)
class DownloadOptions:
    """Everything that can be set about downloading."""

    limits: Limits = field(default_factory=Limits)
    dns_ttl: float = 3600.0
    dns_negative_ttl: float = 60.0
    dns_timeout: float = 10.0
    dns_hosts: Mapping[str, str] = field(default_factory=dict)
    dns_cache_size: int = 10_000
    deny_private: bool = False
    verify_certificates: bool = True
    tls_min_version: str | None = None
    tls_max_version: str | None = None
    tls_ciphers: str | None = None
    pool_size: int = 100
    idle_size: int = 200
    bind_address: tuple[str, int] | None = None
    keep_wire: bool = False


def download_options(settings: BaseSettings) -> DownloadOptions:
    """Reads the settings; SettingError for a value that cannot be."""
    defaults = DownloadOptions()
    pool_size = _integer(settings, "CONCURRENT_REQUESTS", defaults.pool_size, 0)
    total_secs = _number(settings, "DOWNLOAD_TIMEOUT", defaults.limits.total_secs)
    bind = settings.get("DOWNLOAD_BIND_ADDRESS")
    return DownloadOptions(
        limits=Limits(
            max_size=_integer(settings, "DOWNLOAD_MAXSIZE", defaults.limits.max_size, 0),
            warn_size=_integer(settings, "DOWNLOAD_WARNSIZE", defaults.limits.warn_size, 0),
            max_header_bytes=_integer(
                settings, "DOWNLOAD_MAX_HEADER_BYTES", defaults.limits.max_header_bytes, 1024
            ),
            first_byte_secs=_number(
                settings, "DOWNLOAD_FIRST_BYTE_TIMEOUT", defaults.limits.first_byte_secs
            ),
            total_secs=total_secs,
            fail_on_data_loss=settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS", True),
        ),
        dns_ttl=_number(settings, "DNS_TTL", defaults.dns_ttl),
        dns_negative_ttl=_number(settings, "DNS_NEGATIVE_TTL", defaults.dns_negative_ttl),
        # Scrapy's default of 60 s is meant for a resolver that retries inside.
        dns_timeout=_number(settings, "DNS_TIMEOUT", defaults.dns_timeout)
        if _is_set(settings, "DNS_TIMEOUT")
        else defaults.dns_timeout,
        dns_hosts=parse_hosts(settings.get("DNS_HOSTS")),
        dns_cache_size=_integer(settings, "DNS_CACHE_SIZE", defaults.dns_cache_size, 1),
        deny_private=_deny_private(settings),
        # Off in Scrapy by default, on here: only a value somebody gave turns it off.
        verify_certificates=settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
        or not _is_set(settings, "DOWNLOAD_VERIFY_CERTIFICATES"),
        tls_min_version=_tls_version(settings, "DOWNLOAD_TLS_MIN_VERSION"),
        tls_max_version=_tls_version(settings, "DOWNLOAD_TLS_MAX_VERSION"),
        tls_ciphers=settings.get("DOWNLOADER_CLIENT_TLS_CIPHERS") or None,
        pool_size=pool_size,
        idle_size=_idle_size(pool_size),
        bind_address=(bind, 0) if isinstance(bind, str) else bind,
        keep_wire=Config(settings).content.archive,
    )


def _deny_private(settings: BaseSettings) -> bool:
    value = settings.get("DNS_DENY_PRIVATE", "auto")
    if value == "auto":
        return False  # a spider of ours knows its seeds, and has said by now whether to
    try:
        return settings.getbool("DNS_DENY_PRIVATE")
    except ValueError:
        raise SettingError("DNS_DENY_PRIVATE", value, "true, false or auto") from None


def _is_set(settings: BaseSettings, name: str) -> bool:
    return (settings.getpriority(name) or 0) > 0


def _integer(settings: BaseSettings, name: str, default: int, least: int) -> int:
    try:
        number = settings.getint(name, default)
    except (TypeError, ValueError):
        number = least - 1
    if number < least:
        raise SettingError(name, settings.get(name), f"a whole number, at least {least}")
    return number


def _number(settings: BaseSettings, name: str, default: float) -> float:
    try:
        number = settings.getfloat(name, default)
    except (TypeError, ValueError):
        number = 0.0
    if not number > 0:
        raise SettingError(name, settings.get(name), "a number of seconds above 0")
    return number


def _tls_version(settings: BaseSettings, name: str) -> str | None:
    version: str | None = settings.get(name)
    if version is not None and version not in VERSIONS:
        raise SettingError(name, version, f"one of {', '.join(VERSIONS)}")
    return version


def _idle_size(pool_size: int) -> int:
    """Twice the connections in use, but no more than a third of the files that may be open."""
    size = max(200, 2 * pool_size)
    if resource is not None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            size = min(size, max(8, soft // 3))
    return size
