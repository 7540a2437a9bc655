"""`yardsticks serve`: read the built book with real kernels behind it."""

from __future__ import annotations

import argparse
import ipaddress
from pathlib import Path

from ..errors import InputError

SUMMARY = "serve the built book on this machine, so that its pages can be run"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--book", type=Path, default=Path("_build/html"), metavar="DIR", help="the built book (%(default)s)"
    )
    parser.add_argument(
        "--scratch",
        type=Path,
        default=Path("_build/scratch"),
        metavar="DIR",
        help="where kernels start and copies of notebooks go (%(default)s)",
    )
    parser.add_argument("--port", type=int, default=8888, help="the next free one from here on (%(default)s)")
    parser.add_argument("--ip", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--yes-expose",
        action="store_true",
        help="allow an address that other machines reach: whoever has the token can run any code here",
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(arguments: argparse.Namespace) -> int:
    """Check what was asked for, then serve until interrupted."""
    check_book(arguments.book)
    check_address(arguments.ip, expose=arguments.yes_expose)
    if not 0 < arguments.port < 65536:
        raise InputError(f"--port is {arguments.port}: give one from 1 to 65535")
    from . import serve  # only now: Jupyter is heavy

    serve(
        arguments.book.resolve(),
        arguments.scratch.resolve(),
        ip=arguments.ip,
        port=arguments.port,
        open_browser=not arguments.no_browser,
    )
    return 0


def check_book(book: Path) -> None:
    """Refuse a folder without a built book.

    Raises
    ------
    InputError
        No ``index.html`` there; the message says how to build one.
    """
    if not (book / "index.html").is_file():
        raise InputError(f"--book: there is no book in {book}: build it with `make book`")


def check_address(ip: str, *, expose: bool) -> None:
    """Refuse an address that other machines can reach, unless that is wanted.

    Raises
    ------
    InputError
        An address that is not of this machine's loopback, without `expose`. A name other than ``localhost`` counts as
        such, whatever it stands for.

    Examples
    --------
    >>> check_address("127.0.0.1", expose=False)
    >>> check_address("0.0.0.0", expose=False)
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: --ip 0.0.0.0 can be reached from other machines, ...
    """
    if not expose and not _is_loopback(ip):
        raise InputError(
            f"--ip {ip} can be reached from other machines, and whoever has the token can run any code here: "
            "add --yes-expose if that is what you want"
        )


def _is_loopback(ip: str) -> bool:
    if ip == "localhost":
        return True
    try:
        return ipaddress.ip_address(ip).is_loopback
    except ValueError:
        return False
