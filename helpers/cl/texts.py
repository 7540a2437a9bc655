"""Texts as the checks of contamination compare them: levelled, cut into tokens, and hashed span by span."""

from __future__ import annotations

import functools
import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, brief

RULE = "NFKC, case, space, punctuation"
TOKENISER = "words of the normalised text; Chinese, Japanese kana and the like by character"
#: Texts and characters of a block.
BLOCK_TEXTS, BLOCK_CHARACTERS = 2000, 1_000_000
#: Scripts written without spaces: each character is a token.
UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF))
UNSPACED_PLANES = (0x20000, 0x3FFFF)
#: Odd, so that it has an inverse among the whole numbers modulo 2**64.
BASE = 0x9E3779B97F4A7C15


class _Signs(dict[int, Any]):
    """What becomes of each character, looked up once: signs and spaces part words, what is invisible goes."""

    def __missing__(self, code: int) -> Any:
        category = unicodedata.category(chr(code))
        parts = category[0] in "PZ" or category == "Cc"
        self[code] = " " if parts else None if category == "Cf" else code
        return self[code]


_TABLE = _Signs()


def normalise(text: str) -> str:
    """The text as the checks compare it: compatibility forms, case, space and punctuation levelled.

    Unicode NFKC and case folding; punctuation and control characters become spaces, invisible format characters go,
    runs of spaces become one. These steps are repeated until nothing changes, because one may make work for another:
    applied again it changes nothing. There are no options, because texts compare only if both were levelled alike.

    Parameters
    ----------
    text : str
        Of any length and script.

    Returns
    -------
    str
        Words with single spaces between them; empty where only signs and spaces were given.

    Raises
    ------
    InputError
        Something else than a text.

    References
    ----------
    Unicode Standard Annex 15, Unicode Normalization Forms (NFKC); The Unicode Standard, section 3.13 (case folding).
    Which signs part words is this project's own choice.

    Examples
    --------
    >>> normalise("  The “Quick”, brown-fox:\\t½  ")
    'the quick brown fox 1⁄2'
    """
    if not isinstance(text, str):
        raise InputError(f"text is {brief(text)}: give a text")
    while (levelled := _level(text)) != text:
        text = levelled
    return levelled


def _level(text: str) -> str:
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    folded = folded if folded.isascii() else unicodedata.normalize("NFKC", folded)
    return " ".join(folded.translate(_TABLE).split())


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def digest_or_none(normal: str) -> bytes | None:
    """Of what is left of a text; where nothing is, it equals no other."""
    return digest(normal) if normal else None


@dataclass(frozen=True)
class Block:
    """Some texts, and the index of the first."""

    start: int
    texts: list[str]
    normal: list[str]

    @functools.cached_property
    def joined(self) -> Joined:
        return join(self.normal)

    @functools.cached_property
    def tokens(self) -> Tokens:
        return tokens_of(self.joined)


def blocks(given: Iterable[str], name: str) -> Iterator[Block]:
    start, size = 0, 0
    texts: list[str] = []
    for text in checked_texts(given, name):
        texts.append(text)
        size += len(text)
        if len(texts) == BLOCK_TEXTS or size >= BLOCK_CHARACTERS:
            yield Block(start, texts, [normalise(text) for text in texts])
            start, texts, size = start + len(texts), [], 0
    if texts:
        yield Block(start, texts, [normalise(text) for text in texts])


def checked_texts(texts: Any, name: str) -> Iterator[str]:
    if isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable):
        raise InputError(f"{name} is {type(texts).__name__}: give several texts, such as a list")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{name}[{index}] is {type(text).__name__}: give a text")
        yield text


class Joined(NamedTuple):
    """The characters of many texts in one array, text i at first[i]:last[i]."""

    codes: np.ndarray
    first: np.ndarray
    last: np.ndarray


class Tokens(NamedTuple):
    """Hash and text of each token, in order, and where the tokens of each text begin; one entry more closes it."""

    hashes: np.ndarray
    text: np.ndarray


def join(normal: list[str]) -> Joined:
    data = "\n".join([*normal, ""]).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(data, dtype=np.uint32)
    last = np.cumsum([len(text) + 1 for text in normal]) - 1
    return Joined(codes, last - [len(text) for text in normal], last)


def tokens_of(joined: Joined) -> Tokens:
    """Words, and single characters of scripts without spaces."""
    codes = joined.codes
    gap = (codes == 32) | (codes == 10)
    single = (codes >= UNSPACED_PLANES[0]) & (codes <= UNSPACED_PLANES[1])
    for low, high in UNSPACED:
        single |= (codes >= low) & (codes <= high)
    part = np.ones(len(codes) + 1, dtype=bool)  # whether a token may not run on from the character before
    part[1:-1] = gap[1:] | gap[:-1] | single[1:] | single[:-1]
    begins = np.flatnonzero(part[:-1] & ~gap)
    ends = np.flatnonzero(part[1:] & ~gap) + 1
    return Tokens(span_hashes(codes, begins, ends), np.searchsorted(joined.last, begins))


def span_hashes(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    r"""Polynomial hash of each ``values[first:last]`` modulo 2**64, from sums over prefixes."""
    size = len(values)
    values = mix(values.astype(np.uint64) + np.uint64(BASE))  # small numbers would hash to small sums
    powers = _powers(BASE, size)
    sums = np.zeros(size + 1, dtype=np.uint64)
    np.cumsum(values * powers, out=sums[1:])
    inverse = _powers(pow(BASE, -1, 2**64), size)
    return mix((sums[last] - sums[first]) * inverse[first])


def _powers(base: int, size: int) -> np.ndarray:
    powers = np.full(max(size, 1), base, dtype=np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


def mix(values: np.ndarray) -> np.ndarray:
    """Spread numbers over all 64 bits (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def ngrams(tokens: Tokens, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Hash of every n-gram that lies within one text, and the place of its first token."""
    starts = np.arange(max(0, len(tokens.text) - n + 1))
    starts = starts[tokens.text[starts] == tokens.text[starts + n - 1]]
    return span_hashes(tokens.hashes, starts, starts + n), starts
