"""Contamination: which test items were in the training texts, by five checks, and what the result is without them.

Training texts are read once, a block at a time, so they may be a generator over files; what is kept in memory grows
with the test items only.
"""

from __future__ import annotations

import functools
import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from .. import arrays
from ..errors import InputError
from ..uncertainty import Rate, check_confidence

CHECKS = ("exact", "normalised", "ngram", "short", "neighbour")
RULE = "NFKC, case, space, punctuation"
TOKENISER = "words of the normalised text; Chinese, Japanese kana and the like by character"
#: Length of the character n-grams whose counts are compared.
CHARACTERS = 5
#: Texts and characters of a block; test items compared with it at once.
BLOCK_TEXTS, BLOCK_CHARACTERS, TILE = 2000, 1_000_000, 2000
#: Pairs whose cosine is computed at once.
PAIRS = 20_000
#: Share of the threshold that the common n-grams of a text may make up without being looked at in the first pass.
SPLIT = 0.85
#: Scripts written without spaces: each character is a token.
UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF))
UNSPACED_PLANES = (0x20000, 0x3FFFF)
#: Odd, so that it has an inverse among the whole numbers modulo 2**64.
BASE = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Hit:
    """Test item `test` found in training text `train` by one check.

    `score` is 1 for equal texts, the share of the item's tokens that is covered for "ngram", the cosine for
    "neighbour". `train` is the first text found; for "ngram" the first that holds most of the common n-grams.
    """

    test: int
    train: int
    check: str
    score: float


@dataclass(frozen=True)
class Effect:
    """Accuracy with and without the flagged items.

    Attributes
    ----------
    all, clean, flagged : Rate
        Of all items, of those that no check found, of those that one did; each with its exact interval.
    """

    all: Rate
    clean: Rate
    flagged: Rate

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Contamination:
    """What the checks found.

    Attributes
    ----------
    n_test, n_train : int
        Texts on each side.
    hits : tuple of Hit
        By test item, then in the order of `CHECKS`; a copy is found by several.
    settings : dict
        What each check was set to, and its number of hits, as a report wants it.
    too_short : tuple of int
        Items with so few tokens that only equality was looked for.
    empty : tuple of int
        Items of which normalisation leaves nothing: only exact equality was looked for.
    """

    n_test: int
    n_train: int
    hits: tuple[Hit, ...]
    settings: dict[str, dict[str, Any]]
    too_short: tuple[int, ...]
    empty: tuple[int, ...]

    @property
    def flagged(self) -> tuple[int, ...]:
        """Test items that any check found, each once."""
        return tuple(sorted({hit.test for hit in self.hits}))

    def found_by(self, check: str) -> tuple[int, ...]:
        """Test items that one check found.

        Raises
        ------
        InputError
            A check of another name.
        """
        if check not in CHECKS:
            raise InputError(f"check is {check!r}: choose one of {', '.join(CHECKS)}")
        return tuple(hit.test for hit in self.hits if hit.check == check)

    def effect(self, correct: Any, *, confidence: float = 0.95) -> Effect:
        """Accuracy of all items, of the clean and of the flagged ones.

        Flagged items may be easier or harder for other reasons too, so the difference is no estimate of what the
        model remembered.

        Parameters
        ----------
        correct : array of shape (n_test,)
            Whether each item was answered correctly, as truth values or 0 and 1.
        confidence : float
            Level of the exact intervals, 0.95 by default.

        Raises
        ------
        InputError
            Another length, values other than 0 and 1.

        Examples
        --------
        >>> found = find_contamination(["a b c d e f"], ["A b c d e f!", "g h i j k l", "m n o p q r"])
        >>> result = found.effect([1, 1, 0])
        >>> result.all.rate, result.clean.rate, result.flagged.count
        (0.6666666666666666, 0.5, 1)
        """
        check_confidence(confidence)
        right = arrays.to_numpy(arrays.as_array(correct, "correct"))
        if right.shape != (self.n_test,):
            raise InputError(f"correct has shape {right.shape}: give one value for each of the {self.n_test} items")
        if right.dtype.kind not in "biuf" or not np.all((right == 0) | (right == 1)):
            raise InputError("correct holds values other than 0 and 1: say of each item whether it was right")
        flagged = np.zeros(self.n_test, dtype=bool)
        flagged[list(self.flagged)] = True

        def rate(chosen: np.ndarray) -> Rate:
            return Rate.of(int(right[chosen].sum()), int(chosen.sum()), confidence=confidence)

        return Effect(rate(np.ones_like(flagged)), rate(~flagged), rate(flagged))

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            "n_test": self.n_test,
            "n_train": self.n_train,
            "hits": [asdict(hit) for hit in self.hits],
            "settings": self.settings,
            "too_short": list(self.too_short),
            "empty": list(self.empty),
            "flagged": list(self.flagged),
        }


def find_contamination(
    train: Iterable[str],
    test: Sequence[str],
    *,
    ngram: int = 13,
    coverage: float = 0.2,
    shortest: int = 5,
    neighbour: float = 0.8,
    encoder: Callable[[list[str]], Any] | None = None,
) -> Contamination:
    r"""Which test items occur in the training texts: five checks, from equality to likeness.

    ``exact``: equal texts, by SHA-256. ``normalised``: equal after `normalise`. ``ngram``: the share of the item's
    tokens that lie in an n-gram which some training text has too is at least `coverage`. ``short``: for items of fewer
    than `ngram` tokens, which have no n-gram, the whole item occurs within a training text; below `shortest` tokens
    that happens by chance, and only equality counts. ``neighbour``: the cosine of counts of 5-character sequences of
    the normalised texts,

    .. math:: \cos(x, y) = \frac{\sum_g x_g y_g}{\sqrt{\sum_g x_g^2} \sqrt{\sum_g y_g^2}},

    or of the encoder's vectors, is at least `neighbour`. It finds small changes anywhere in texts of like length; a
    short item within a long text is for the other checks. Nothing found is no proof: translations and free paraphrases
    pass all but a good encoder.

    Sequences are compared by 64-bit hashes; with 10^7 of them on each side a false match has a chance of about 1 in
    200,000. Pairs that cannot reach the threshold are skipped, by a bound that never loses one.

    Parameters
    ----------
    train : iterable of str
        Training texts, read once; a generator will do.
    test : sequence of str
        Test items.
    ngram : int
        Tokens of an n-gram, 13 by default as is common; 8 finds more and errs more.
    coverage : float
        Share of an item's tokens in (0, 1], 0.2 by default: a single common phrase in a long item does not flag it.
    shortest : int
        Tokens from which a short item is looked for within texts, 5 by default.
    neighbour : float
        Cosine in (0, 1], 0.8 by default; choose it on pairs that you have read, above all for an encoder.
    encoder : callable, optional
        Turns a list of texts (as given, not normalised) into an array of shape (len, d); replaces the character counts.

    Returns
    -------
    Contamination
        `hits`, the `flagged` items, `effect` for the result with and without them.

    Raises
    ------
    InputError
        A text that is none, named by side and index; no texts; a threshold out of range; vectors of the encoder that
        are of the wrong shape, not finite, or zero.

    References
    ----------
    Brown et al. (2020), Language Models are Few-Shot Learners, appendix C (n-grams of 8 to 13 words). The bound:
    Bayardo, Ma and Srikant (2007), Scaling Up All Pairs Similarity Search, WWW.

    Examples
    --------
    >>> corpus = ["The quick brown fox jumps over the lazy dog.", "Nothing to see here."]
    >>> items = ["the QUICK brown fox -- jumps over the lazy dog", "brown fox jumps over the"]
    >>> found = find_contamination(corpus, items)
    >>> [(hit.test, hit.check) for hit in found.hits]
    [(0, 'normalised'), (0, 'short'), (0, 'neighbour'), (1, 'short')]
    """
    arrays.whole_number(ngram, "ngram", least=2)
    arrays.whole_number(shortest, "shortest", least=1)
    _share(coverage, "coverage")
    _share(neighbour, "neighbour")
    items = list(_texts(test, "test"))
    if not items:
        raise InputError("test is empty: give at least one item")
    target = list(_blocks(items, "test"))
    tokens = _Tokens(
        np.concatenate([block.tokens.hashes for block in target]),
        np.concatenate([block.tokens.text + block.start for block in target]),
    )
    searches: list[_Search] = [
        _Equal("exact", target, lambda block: map(_digest, block.texts)),
        _Equal("normalised", target, lambda block: map(_digest_or_none, block.normal)),
        _Ngrams(tokens, len(items), ngram, coverage),
        _Short(tokens, len(items), ngram, shortest),
        _Characters(target, len(items), neighbour) if encoder is None else _Encoded(items, encoder, neighbour),
    ]
    n_train = 0
    for block in _blocks(train, "train"):
        n_train += len(block.texts)
        for search in searches:
            search.see(block)
    if not n_train:
        raise InputError("train is empty: give at least one text")
    found = [hit for search in searches for hit in search.hits()]
    lengths = np.bincount(tokens.text, minlength=len(items))
    return Contamination(
        n_test=len(items),
        n_train=n_train,
        hits=tuple(sorted(found, key=lambda hit: (hit.test, CHECKS.index(hit.check)))),
        settings=_settings(found, ngram, coverage, shortest, neighbour, encoder),
        too_short=tuple(np.flatnonzero((lengths < min(shortest, ngram)) & (lengths > 0)).tolist()),
        empty=tuple(np.flatnonzero(lengths == 0).tolist()),
    )


def _settings(
    found: list[Hit], ngram: int, coverage: float, shortest: int, neighbour: float, encoder: Any
) -> dict[str, dict[str, Any]]:
    count = {check: sum(hit.check == check for hit in found) for check in CHECKS}
    name = getattr(encoder, "__name__", "given by the caller")
    name = f"counts of {CHARACTERS} characters" if encoder is None else name
    return {
        "exact": {"algorithm": "sha256", "hits": count["exact"]},
        "normalised": {"rule": RULE, "hits": count["normalised"]},
        "ngram": {"n": ngram, "tokeniser": TOKENISER, "coverage": coverage, "hits": count["ngram"]},
        "short": {"rule": f"from {shortest} to {ngram - 1} tokens: whole item within a text", "hits": count["short"]},
        "neighbour": {"encoder": name, "threshold": neighbour, "hits": count["neighbour"]},
    }


def _share(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= 1.0:
        raise InputError(f"{name} is {value!r}: give a number above 0, up to 1")


def _texts(texts: Any, name: str) -> Iterator[str]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(f"{name} is {type(texts).__name__}: give several texts, such as a list")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{name}[{index}] is {type(text).__name__}: give a text")
        yield text


# Texts


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
    runs of spaces become one. Applied again it changes nothing.

    >>> normalise("  The “Quick”, brown-fox:\\t½  ")
    'the quick brown fox 1⁄2'
    """
    while (levelled := _level(text)) != text:
        text = levelled
    return levelled


def _level(text: str) -> str:
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    folded = folded if folded.isascii() else unicodedata.normalize("NFKC", folded)
    return " ".join(folded.translate(_TABLE).split())


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _digest_or_none(normal: str) -> bytes | None:
    """Of what is left of a text; where nothing is, it equals no other."""
    return _digest(normal) if normal else None


@dataclass(frozen=True)
class _Block:
    """Some texts, and the index of the first."""

    start: int
    texts: list[str]
    normal: list[str]

    @functools.cached_property
    def joined(self) -> _Joined:
        return _join(self.normal)

    @functools.cached_property
    def tokens(self) -> _Tokens:
        return _tokens(self.joined)


def _blocks(given: Iterable[str], name: str) -> Iterator[_Block]:
    start, size = 0, 0
    texts: list[str] = []
    for text in _texts(given, name):
        texts.append(text)
        size += len(text)
        if len(texts) == BLOCK_TEXTS or size >= BLOCK_CHARACTERS:
            yield _Block(start, texts, [normalise(text) for text in texts])
            start, texts, size = start + len(texts), [], 0
    if texts:
        yield _Block(start, texts, [normalise(text) for text in texts])


# Hashes of spans, all at once


class _Joined(NamedTuple):
    """The characters of many texts in one array, text i at first[i]:last[i]."""

    codes: np.ndarray
    first: np.ndarray
    last: np.ndarray


class _Tokens(NamedTuple):
    """Hash and text of each token, in order, and where the tokens of each text begin; one entry more closes it."""

    hashes: np.ndarray
    text: np.ndarray


def _join(normal: list[str]) -> _Joined:
    data = "\n".join([*normal, ""]).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(data, dtype=np.uint32)
    last = np.cumsum([len(text) + 1 for text in normal]) - 1
    return _Joined(codes, last - [len(text) for text in normal], last)


def _tokens(joined: _Joined) -> _Tokens:
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
    return _Tokens(_span_hashes(codes, begins, ends), np.searchsorted(joined.last, begins))


def _span_hashes(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    r"""Polynomial hash of each ``values[first:last]`` modulo 2**64, from sums over prefixes."""
    size = len(values)
    values = _mix(values.astype(np.uint64) + np.uint64(BASE))  # small numbers would hash to small sums
    powers = _powers(BASE, size)
    sums = np.zeros(size + 1, dtype=np.uint64)
    np.cumsum(values * powers, out=sums[1:])
    inverse = _powers(pow(BASE, -1, 2**64), size)
    return _mix((sums[last] - sums[first]) * inverse[first])


def _powers(base: int, size: int) -> np.ndarray:
    powers = np.full(max(size, 1), base, dtype=np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _mix(values: np.ndarray) -> np.ndarray:
    """Spread numbers over all 64 bits (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _ngrams(tokens: _Tokens, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Hash of every n-gram that lies within one text, and the place of its first token."""
    starts = np.arange(max(0, len(tokens.text) - n + 1))
    starts = starts[tokens.text[starts] == tokens.text[starts + n - 1]]
    return _span_hashes(tokens.hashes, starts, starts + n), starts


# The checks


class _Search(Protocol):
    """A check: it sees the training texts block by block, then says what it found."""

    def see(self, block: _Block) -> None: ...

    def hits(self) -> Iterator[Hit]: ...


class _Equal:
    """Texts with the same digest."""

    def __init__(self, check: str, target: list[_Block], of: Callable[[_Block], Iterable[bytes | None]]) -> None:
        self.check, self.of = check, of
        self.items: dict[bytes, list[int]] = {}
        for block in target:
            for index, digest in enumerate(of(block), start=block.start):
                if digest is not None:
                    self.items.setdefault(digest, []).append(index)
        self.first: dict[bytes, int] = {}

    def see(self, block: _Block) -> None:
        for index, digest in enumerate(self.of(block), start=block.start):
            if digest in self.items:
                self.first.setdefault(digest, index)

    def hits(self) -> Iterator[Hit]:
        for digest, train in self.first.items():
            for test in self.items[digest]:
                yield Hit(test, train, self.check, 1.0)


class _Known:
    """A set of hashes, and the first training text in which each was seen."""

    def __init__(self, hashes: np.ndarray) -> None:
        self.hashes, self.where = np.unique(hashes, return_inverse=True)
        self.first = np.full(len(self.hashes), np.iinfo(np.int64).max)

    def see(self, hashes: np.ndarray, train: np.ndarray) -> None:
        if len(self.hashes):
            place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
            same = self.hashes[place] == hashes
            np.minimum.at(self.first, place[same], train[same])

    def seen_in(self) -> np.ndarray:
        """For each hash as it was given, the first text; -1 for none."""
        first = np.where(self.first == np.iinfo(np.int64).max, -1, self.first)
        return first[self.where]


class _Ngrams:
    """Coverage of an item by n-grams that some training text has too."""

    def __init__(self, tokens: _Tokens, n_items: int, n: int, coverage: float) -> None:
        self.tokens, self.n_items, self.n, self.coverage = tokens, n_items, n, coverage
        hashes, self.starts = _ngrams(tokens, n)
        self.known = _Known(hashes)

    def see(self, block: _Block) -> None:
        hashes, starts = _ngrams(block.tokens, self.n)
        self.known.see(hashes, block.tokens.text[starts] + block.start)

    def hits(self) -> Iterator[Hit]:
        seen_in = self.known.seen_in()
        starts, trains = self.starts[seen_in >= 0], seen_in[seen_in >= 0]
        edge = np.zeros(len(self.tokens.text) + 1, dtype=np.int64)
        np.add.at(edge, starts, 1)
        np.add.at(edge, starts + self.n, -1)
        covered = np.bincount(self.tokens.text, weights=edge[:-1].cumsum() > 0, minlength=self.n_items)
        length = np.bincount(self.tokens.text, minlength=self.n_items)
        items = self.tokens.text[starts]
        for item, rows in groupby(range(len(items)), key=items.__getitem__):
            score = covered[item] / length[item]
            if score >= self.coverage:
                texts, times = np.unique(trains[list(rows)], return_counts=True)
                yield Hit(int(item), int(texts[np.argmax(times)]), "ngram", float(score))


class _Short:
    """Items without an n-gram that occur whole within a training text."""

    def __init__(self, tokens: _Tokens, n_items: int, n: int, shortest: int) -> None:
        length = np.bincount(tokens.text, minlength=n_items)
        first = np.cumsum(length) - length
        self.items = {size: np.flatnonzero(length == size) for size in range(shortest, n) if np.any(length == size)}
        self.known = {
            size: _Known(_span_hashes(tokens.hashes, first[items], first[items] + size))
            for size, items in self.items.items()
        }

    def see(self, block: _Block) -> None:
        for size, known in self.known.items():
            hashes, starts = _ngrams(block.tokens, size)
            known.see(hashes, block.tokens.text[starts] + block.start)

    def hits(self) -> Iterator[Hit]:
        for size, known in self.known.items():
            for item, train in zip(self.items[size].tolist(), known.seen_in().tolist(), strict=True):
                if train >= 0:
                    yield Hit(item, train, "short", 1.0)


class _Nearest:
    """The nearest training text of each test item so far."""

    def __init__(self, n_items: int, threshold: float) -> None:
        self.threshold = threshold
        self.best = np.zeros(n_items)
        self.train = np.full(n_items, -1)

    def offer(self, items: np.ndarray, trains: np.ndarray, cosines: np.ndarray) -> None:
        order = np.lexsort((-trains, cosines, items))
        last = np.flatnonzero(np.diff(items[order], append=-1))  # of each item the most alike, the first of equals
        items, trains, cosines = items[order][last], trains[order][last], cosines[order][last]
        better = cosines > self.best[items]
        self.best[items[better]], self.train[items[better]] = cosines[better], trains[better]

    def hits(self) -> Iterator[Hit]:
        for item in np.flatnonzero(self.best >= self.threshold - 1e-6).tolist():
            yield Hit(item, int(self.train[item]), "neighbour", min(1.0, float(self.best[item])))


class _Characters:
    """Cosine of counts of character n-grams, over pairs that could reach the threshold."""

    def __init__(self, target: list[_Block], n_items: int, threshold: float) -> None:
        self.nearest = _Nearest(n_items, threshold)
        parts = [(block.start, _character_counts(block.joined)) for block in target]
        rows = np.concatenate([part.row + np.int32(start) for start, part in parts])
        counts = np.concatenate([part.times for _, part in parts])
        self.vocabulary = np.unique(np.concatenate([np.unique(part.hashes) for _, part in parts]))
        places = [np.searchsorted(self.vocabulary, part.hashes).astype(np.int32) for _, part in parts]
        column = np.concatenate(places)
        # from rare to common: the few rare ones that a pair must share leave few pairs
        often = np.bincount(column, minlength=len(self.vocabulary))
        self.rank = np.empty(len(often), dtype=np.int32)
        self.rank[np.argsort(often, kind="stable")] = np.arange(len(often), dtype=np.int32)
        norm = np.concatenate([part.norm for _, part in parts])
        del parts, places  # what is built next needs the room
        shape = (n_items, len(self.vocabulary))
        self.items = _scaled(sparse.csr_array((counts, (rows, self.rank[column])), shape=shape), norm)
        self.needed = _needed(self.items, threshold)

    def see(self, block: _Block) -> None:
        if not len(self.vocabulary):
            return
        texts = self._vectors(block)
        needed = _needed(texts, self.nearest.threshold).T.tocsr()
        for start in range(0, self.items.shape[0], TILE):
            partial = (self.needed[start : start + TILE] @ needed).tocoo()
            could = partial.data >= self.nearest.threshold * (1.0 - SPLIT) - 1e-5
            items, trains = partial.row[could].astype(np.int64) + start, partial.col[could].astype(np.int64)
            for some in range(0, len(items), PAIRS):
                i, j = items[some : some + PAIRS], trains[some : some + PAIRS]
                self.nearest.offer(i, j + block.start, self.items[i].multiply(texts[j]).sum(axis=1))

    def _vectors(self, block: _Block) -> sparse.csr_array:
        """Unit vectors over the test items' n-grams; all of a text's n-grams count in its length."""
        found = _character_counts(block.joined)
        place = np.minimum(np.searchsorted(self.vocabulary, found.hashes), len(self.vocabulary) - 1)
        known = self.vocabulary[place] == found.hashes
        entries = (found.times[known], (found.row[known], self.rank[place[known]]))
        return _scaled(sparse.csr_array(entries, shape=(len(block.texts), len(self.vocabulary))), found.norm)

    def hits(self) -> Iterator[Hit]:
        return self.nearest.hits()


class _Counts(NamedTuple):
    """How often each sequence of characters occurs in each text, and the length of the text's vector."""

    hashes: np.ndarray
    row: np.ndarray
    times: np.ndarray
    norm: np.ndarray


def _character_counts(joined: _Joined) -> _Counts:
    """Every window of characters, counted; a shorter text is one window."""
    length = joined.last - joined.first
    windows = np.where(length > 0, np.maximum(1, length - CHARACTERS + 1), 0)
    rows = np.repeat(np.arange(len(length), dtype=np.int32), windows)
    offset = np.arange(len(rows)) - np.repeat(np.cumsum(windows) - windows, windows)
    begins = joined.first[rows] + offset
    hashes = _span_hashes(joined.codes, begins, np.minimum(begins + CHARACTERS, joined.last[rows]))
    keys = hashes ^ _mix(rows.astype(np.uint64) + np.uint64(1))  # a window and its text in one number
    _, where, times = np.unique(keys, return_index=True, return_counts=True)
    norm = np.sqrt(np.bincount(rows[where], weights=times.astype(np.float64) ** 2, minlength=len(length)))
    return _Counts(hashes[where], rows[where], times.astype(np.float32), norm)


def _scaled(counts: sparse.csr_array, norm: np.ndarray) -> sparse.csr_array:
    """Each row divided by its norm, columns in order."""
    counts.sort_indices()
    scale = 1.0 / np.where(norm > 0, norm, 1.0)
    counts.data = (counts.data * np.repeat(scale, np.diff(counts.indptr))).astype(np.float32)
    return counts


def _needed(vectors: sparse.csr_array, threshold: float) -> sparse.csr_array:
    """The first entries of each row, up to where the rest is shorter than a part of the threshold.

    Entries that two rows share and that are not among these of both lie in the rest of one of them, so they add less
    than its length to the cosine: what these entries give must come within it of the threshold.
    """
    square = vectors.data.astype(np.float64) ** 2
    total = np.concatenate([[0.0], np.cumsum(square)])
    rest = np.repeat(total[vectors.indptr[1:]], np.diff(vectors.indptr)) - total[:-1]  # from this entry on
    data = np.where(rest >= (SPLIT * threshold) ** 2, vectors.data, np.float32(0.0))
    first = sparse.csr_array((data, vectors.indices.copy(), vectors.indptr.copy()), shape=vectors.shape)
    first.eliminate_zeros()
    return first


class _Encoded:
    """Cosine of the vectors of an encoder."""

    def __init__(self, texts: list[str], encoder: Callable[[list[str]], Any], threshold: float) -> None:
        self.encoder = encoder
        self.nearest = _Nearest(len(texts), threshold)
        tiles = range(0, len(texts), TILE)
        self.items = np.concatenate([self._unit(texts[i : i + TILE], i, "test") for i in tiles])

    def see(self, block: _Block) -> None:
        texts = self._unit(block.texts, block.start, "train")
        if texts.shape[1] != self.items.shape[1]:
            raise InputError(f"encoder gave {self.items.shape[1]} numbers a text at first, now {texts.shape[1]}")
        for start in range(0, len(self.items), TILE):
            cosines = self.items[start : start + TILE] @ texts.T
            best = cosines.argmax(axis=1)
            rows = np.arange(len(best))
            self.nearest.offer(rows + start, best + block.start, cosines[rows, best])

    def _unit(self, texts: list[str], start: int, side: str) -> np.ndarray:
        vectors = arrays.to_numpy(arrays.detached(arrays.as_array(self.encoder(texts), "encoder's vectors")))
        if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.dtype.kind not in "fiu":
            raise InputError(
                f"encoder gave shape {vectors.shape} for {len(texts)} texts: it must give one row for each"
            )
        vectors = vectors.astype(np.float64)
        norm = np.linalg.norm(vectors, axis=1)
        bad = np.flatnonzero(~(np.isfinite(norm) & (norm > 0)))
        if bad.size:
            raise InputError(f"encoder gave {side}[{start + bad[0]}] a vector of length {norm[bad[0]]}: no direction")
        return vectors / norm[:, None]

    def hits(self) -> Iterator[Hit]:
        return self.nearest.hits()


# Dates


@dataclass(frozen=True)
class Timestamps:
    """Whether all test items are later than all training texts.

    Attributes
    ----------
    train_max, test_min : str
        Latest training text, earliest test item, ISO.
    violations : tuple of int
        Test items that are not later than the latest training text.
    """

    train_max: str
    test_min: str
    violations: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {**asdict(self), "violations": list(self.violations)}


def check_timestamps(train: Iterable[str | date], test: Sequence[str | date]) -> Timestamps:
    """Test items that may have been there when the training texts were collected.

    An item is clean by date if it is strictly later than the latest training text (or than the cut-off date that the
    maker of a model states, passed as the only entry of `train`). If any entry has no time of day, all are compared by
    day. The date is that of the content: a new copy of an old text passes.

    Parameters
    ----------
    train, test : iterable of str or date or datetime
        ISO texts such as 2024-05-01 or 2024-05-01T12:00:00Z; all with a time zone or all without.

    Returns
    -------
    Timestamps
        `violations` lists the items that are not later.

    Raises
    ------
    InputError
        An entry that is no date, named by side and index; times with and without a zone; an empty side.

    Examples
    --------
    >>> check_timestamps(["2023-01-05", "2023-09-30"], ["2023-10-01", "2023-09-30", "2021-01-01"]).violations
    (1, 2)
    """
    sides = {"train": _moments(train, "train"), "test": _moments(test, "test")}
    whole = [moment for moments in sides.values() for moment in moments if isinstance(moment, datetime)]
    if len({moment.tzinfo is None for moment in whole}) > 1:
        raise InputError("train and test hold times with and without a time zone: give all of them one")
    if len(whole) < sum(map(len, sides.values())):
        sides = {name: [_day(moment) for moment in moments] for name, moments in sides.items()}
    latest = max(sides["train"])
    late = tuple(index for index, moment in enumerate(sides["test"]) if moment <= latest)
    return Timestamps(latest.isoformat(), min(sides["test"]).isoformat(), late)


def _moments(entries: Any, name: str) -> list[Any]:
    if isinstance(entries, str) or not isinstance(entries, Iterable):
        raise InputError(f"{name} is {entries!r}: give several dates, such as a list")
    found = [_moment(entry, f"{name}[{index}]") for index, entry in enumerate(entries)]
    if not found:
        raise InputError(f"{name} is empty: give at least one date")
    return found


def _moment(entry: Any, name: str) -> date | datetime:
    """A day, or a moment in universal time."""
    try:
        if isinstance(entry, str):
            entry = date.fromisoformat(entry) if len(entry) <= 10 else datetime.fromisoformat(entry)
    except ValueError as error:
        raise InputError(f"{name} is {entry!r}: give an ISO date such as 2024-05-01") from error
    if not isinstance(entry, date):
        raise InputError(f"{name} is {entry!r}: give an ISO date such as 2024-05-01")
    return entry.astimezone(UTC) if isinstance(entry, datetime) and entry.tzinfo else entry


def _day(moment: date | datetime) -> date:
    return moment.date() if isinstance(moment, datetime) else moment
