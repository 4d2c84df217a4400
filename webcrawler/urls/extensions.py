"""What a file's extension tells about its type, before anything is fetched.

The table holds only extensions that say what the file is. Extensions of pages (html, php, asp,
jsp, cgi …) are left out on purpose, as are those that servers show as pages (md, py), top-level
domains (com, ai, so) and what may as well be the end of a name (a, o, class): behind an extension
that is not here may be anything, and it is fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_DOCUMENTS = {
    "application/pdf": "pdf",
    "application/postscript": "ps eps",
    "application/rtf": "rtf",
    "application/epub+zip": "epub",
    "application/x-mobipocket-ebook": "mobi",
    "image/vnd.djvu": "djvu djv",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls xlt",
    "application/vnd.ms-powerpoint": "ppt pps",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx docm dotx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx xlsm xltx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx pptm ppsx",
    "application/vnd.oasis.opendocument.text": "odt ott",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/vnd.oasis.opendocument.graphics": "odg",
}
_TEXTS = {
    "text/plain": "txt",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "text/calendar": "ics",
    "text/vcard": "vcf",
    "text/vtt": "vtt",
    "text/css": "css",
    "text/javascript": "js mjs",
    "application/javascript": "js mjs",
    "application/json": "json",
    "application/ld+json": "jsonld",
    "application/geo+json": "geojson",
    "application/manifest+json": "webmanifest",
    "application/rss+xml": "rss xml",
    "application/atom+xml": "atom xml",
    "application/rdf+xml": "rdf xml",
    "application/xhtml+xml": "xml",
    "application/xml": "xml xsl xslt xsd dtd rss atom rdf",
    "text/xml": "xml xsl xslt xsd dtd rss atom rdf",
}
_IMAGES = {
    "image/jpeg": "jpg jpeg jpe jfif",
    "image/png": "png apng",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/avif": "avif",
    "image/heic": "heic heif",
    "image/jxl": "jxl",
    "image/bmp": "bmp",
    "image/tiff": "tif tiff",
    "image/svg+xml": "svg svgz",
    "image/x-icon": "ico cur",
    "image/vnd.microsoft.icon": "ico cur",
    "image/vnd.adobe.photoshop": "psd",
    "image/x-xcf": "xcf",
    "image/x-canon-cr2": "cr2",
    "image/x-nikon-nef": "nef",
    "image/x-adobe-dng": "dng",
}
_SOUND_AND_FILM = {
    "audio/mpeg": "mp3 mp2",
    "audio/mp4": "m4a m4b",
    "audio/aac": "aac",
    "audio/ogg": "ogg oga opus",
    "audio/flac": "flac",
    "audio/wav": "wav",
    "audio/x-aiff": "aif aiff",
    "audio/x-ms-wma": "wma",
    "audio/midi": "mid midi",
    "audio/x-mpegurl": "m3u",
    "application/vnd.apple.mpegurl": "m3u8",
    "video/mp4": "mp4 m4v",
    "video/mpeg": "mpg mpeg",
    "video/ogg": "ogv",
    "video/webm": "webm",
    "video/quicktime": "mov qt",
    "video/x-msvideo": "avi",
    "video/x-ms-wmv": "wmv asf",
    "video/x-matroska": "mkv",
    "video/x-flv": "flv",
    "video/3gpp": "3gp 3g2",
    "application/x-shockwave-flash": "swf",
}
_ARCHIVES = {
    "application/zip": "zip",
    "application/gzip": "gz tgz",
    "application/x-bzip2": "bz2 tbz2",
    "application/x-xz": "xz txz lzma",
    "application/zstd": "zst",
    "application/x-tar": "tar tgz tbz2 txz",
    "application/x-7z-compressed": "7z",
    "application/vnd.rar": "rar",
    "application/x-rar-compressed": "rar",
    "application/x-cpio": "cpio",
    "application/warc": "warc",
}
_PROGRAMS = {
    "application/octet-stream": "bin dat img dll pyc sqlite sqlite3 mdb",
    "application/x-msdownload": "exe dll scr",
    "application/x-msi": "msi",
    "application/x-iso9660-image": "iso",
    "application/x-apple-diskimage": "dmg",
    "application/vnd.debian.binary-package": "deb udeb",
    "application/x-rpm": "rpm",
    "application/vnd.android.package-archive": "apk",
    "application/java-archive": "jar war",
    "application/x-xpinstall": "xpi",
    "application/x-chrome-extension": "crx",
    "application/vnd.ms-cab-compressed": "cab",
    "application/wasm": "wasm",
    "application/x-bittorrent": "torrent",
    "application/pgp-signature": "sig asc",
    "application/x-x509-ca-cert": "crt cer",
}
_FONTS = {
    "font/woff": "woff",
    "font/woff2": "woff2",
    "font/ttf": "ttf",
    "font/otf": "otf",
    "application/vnd.ms-fontobject": "eot",
}


def _by_extension(*groups: dict[str, str]) -> dict[str, frozenset[str]]:
    types: dict[str, set[str]] = {}
    for group in groups:
        for content_type, extensions in group.items():
            for extension in extensions.split():
                types.setdefault(extension, set()).add(content_type)
    return {extension: frozenset(found) for extension, found in types.items()}


#: Extension, lower case and without the dot, to the types a server may give such a file.
TYPES_BY_EXTENSION = _by_extension(
    _DOCUMENTS, _TEXTS, _IMAGES, _SOUND_AND_FILM, _ARCHIVES, _PROGRAMS, _FONTS
)

#: Pictures, sound, film, archives, programs and fonts: no crawl of texts wants these.
DEFAULT_DENIED_EXTENSIONS: tuple[str, ...] = tuple(
    sorted(_by_extension(_IMAGES, _SOUND_AND_FILM, _ARCHIVES, _PROGRAMS, _FONTS))
)


def extensions_to_skip(content_types: Iterable[str]) -> frozenset[str]:
    """The extensions of files that are surely of none of the wanted types.

    A wanted type may be a whole family (`image/*`) or everything (`*/*`, `*`); parameters such as a
    charset do not matter. A type the table does not know skips no less for it.
    """
    wanted = {kind.partition(";")[0].strip().lower() for kind in content_types}
    if wanted & {"*", "*/*"}:
        return frozenset()
    families = tuple(kind[:-1] for kind in wanted if kind.endswith("/*"))
    return frozenset(
        extension
        for extension, types in TYPES_BY_EXTENSION.items()
        if types.isdisjoint(wanted) and not any(kind.startswith(families) for kind in types)
    )
