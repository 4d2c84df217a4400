"""The command: serve a sample web until a signal comes."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .recipe import Recipe
from .server import SampleServer
from .web import SampleWeb

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(Recipe)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, and give the exit code: 0 after a signal, 2 if it could not start."""
    parser = _parser()
    options = parser.parse_args(arguments)
    changes = dict(options.set)
    make = SampleWeb.plain if options.plain else SampleWeb
    try:
        web = make(
            **{"seed": options.seed, "hosts": options.hosts, "pages": options.pages, **changes}
        )
    except ValueError as error:
        parser.error(str(error))
    try:
        server = SampleServer(
            web, port=options.port, addresses=options.address, log=options.log, keep=0
        )
        if options.truth:
            text = json.dumps(server.web.truth().as_json())
            Path(options.truth).write_text(text, encoding="utf-8")
    except (OSError, OverflowError) as error:
        print(f"cannot serve the sample web: {error}", file=sys.stderr)
        return 2
    server.run(_announce)
    return 0


def _announce(server: SampleServer) -> None:
    told = {
        "port": server.port,
        "seeds": server.seeds,
        "dns": server.dns,
        "hosts": server.web.host_names,
    }
    print(json.dumps(told), flush=True)


def _feature(text: str) -> tuple[str, Any]:
    """NAME=VALUE as a change to the recipe, with the type that the default has."""
    name, equals, value = text.partition("=")
    if not equals or name not in _DEFAULTS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=VALUE with one of {', '.join(_DEFAULTS)}"
        )
    default = _DEFAULTS[name]
    try:
        if isinstance(default, bool):
            return name, {"true": True, "false": False}[value.lower()]
        if isinstance(default, tuple):
            return name, tuple(type(default[0])(part) for part in value.split(","))
        return name, type(default)(value)
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(
            f"{text!r}: the value must look like {_shown(default)}"
        ) from None


def _shown(default: object) -> str:
    if isinstance(default, tuple):
        return ",".join(str(part) for part in default)
    return str(default).lower() if isinstance(default, bool) else str(default)


def _parser() -> argparse.ArgumentParser:
    features = "\n".join(f"  {name}={_shown(value)}" for name, value in _DEFAULTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m webcrawler.sampleweb",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Serve a deterministic little web on loopback, under many host names.\n"
        "Prints one JSON line when it is ready (port, seeds, dns, hosts) and serves until\n"
        "SIGINT or SIGTERM. Requests are told apart by their Host header.",
        epilog=f"features and their defaults, explained in recipe.py:\n{features}",
    )
    parser.add_argument("--seed", type=int, default=1, help="the number it is made from")
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--plain", action="store_true", help="only good HTML pages and links")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_feature,
        metavar="NAME=VALUE",
        help="change a feature; lists with commas; repeatable",
    )
    parser.add_argument("--port", type=int, default=0, help="0 finds a free one (default)")
    parser.add_argument(
        "--address",
        action="append",
        default=[],
        help="a loopback address to listen on, default 127.0.0.1; repeatable: the hosts are shared"
        " out among them",
    )
    parser.add_argument("--log", metavar="FILE", help="write every arrival here, as JSON lines")
    parser.add_argument(
        "--truth", metavar="FILE", help="write what a perfect crawler would find here, as JSON"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
