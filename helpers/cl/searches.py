"""The searches behind the checks of contamination: each sees the training texts once, block by block.

What a search keeps in memory grows with the test items only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from .. import arrays
from ..errors import InputError
from .texts import Block, Joined, Tokens, mix, ngrams, span_hashes

CHECKS = ("exact", "normalised", "ngram", "short", "neighbour")
#: Length of the character n-grams whose counts are compared.
CHARACTERS = 5
#: Squares of such numbers, summed, stay finite.
LARGEST = 1e100
#: Test items compared with a block at once, and pairs whose cosine is computed at once.
TILE, PAIRS = 2000, 20_000
#: Share of the threshold that the common n-grams of a text may make up without being looked at in the first pass.
SPLIT = 0.85


@dataclass(frozen=True)
class Hit:
    """A test item that one check of `find_contamination` found in a training text.

    Attributes
    ----------
    test : int
        Place of the item among the test items, from 0.
    train : int
        Place of the training text, from 0: the first one found; for "ngram" the first that holds most of the common
        n-grams, for "neighbour" the nearest.
    check : {"exact", "normalised", "ngram", "short", "neighbour"}
        What found it; the formula and the source of each are those of `find_contamination`.
    score : float
        1 for the checks of equality ("exact", "normalised", "short"); for "ngram" the share of the item's tokens that
        common n-grams cover, for "neighbour" the cosine, both at most 1 and at least the threshold of the check.

    References
    ----------
    Brown et al. (2020), Language Models are Few-Shot Learners, appendix C, for n-grams.

    Examples
    --------
    >>> from helpers import cl
    >>> found = cl.find_contamination(["One two three.", "Nothing here."], ["one two three", "four"])
    >>> found.hits[0]
    Hit(test=0, train=0, check='normalised', score=1.0)
    """

    test: int
    train: int
    check: str
    score: float


class Search(Protocol):
    """A check: it sees the training texts block by block, then says what it found."""

    def see(self, block: Block) -> None: ...

    def hits(self) -> Iterator[Hit]: ...


class Equal:
    """Texts with the same digest."""

    def __init__(self, check: str, target: list[Block], of: Callable[[Block], Iterable[bytes | None]]) -> None:
        self.check, self.of = check, of
        self.items: dict[bytes, list[int]] = {}
        for block in target:
            for index, digest in enumerate(of(block), start=block.start):
                if digest is not None:
                    self.items.setdefault(digest, []).append(index)
        self.first: dict[bytes, int] = {}

    def see(self, block: Block) -> None:
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


class Ngrams:
    """Coverage of an item by n-grams that some training text has too."""

    def __init__(self, tokens: Tokens, n_items: int, n: int, coverage: float) -> None:
        self.tokens, self.n_items, self.n, self.coverage = tokens, n_items, n, coverage
        hashes, self.starts = ngrams(tokens, n)
        self.known = _Known(hashes)

    def see(self, block: Block) -> None:
        hashes, starts = ngrams(block.tokens, self.n)
        self.known.see(hashes, block.tokens.text[starts] + block.start)

    def hits(self) -> Iterator[Hit]:
        seen_in = self.known.seen_in()
        starts, trains = self.starts[seen_in >= 0], seen_in[seen_in >= 0]
        edge = np.zeros(len(self.tokens.text) + 1, dtype=np.int64)
        np.add.at(edge, starts, 1)
        np.add.at(edge, starts + self.n, -1)
        covered = arrays.counts(self.tokens.text, weights=edge[:-1].cumsum() > 0, minlength=self.n_items)
        length = arrays.counts(self.tokens.text, minlength=self.n_items)
        items = self.tokens.text[starts]
        for item, rows in groupby(range(len(items)), key=items.__getitem__):
            score = covered[item] / length[item]
            if score >= self.coverage:
                texts, times = np.unique(trains[list(rows)], return_counts=True)
                yield Hit(int(item), int(texts[np.argmax(times)]), "ngram", float(score))


class Short:
    """Items without an n-gram that occur whole within a training text."""

    def __init__(self, tokens: Tokens, n_items: int, n: int, shortest: int) -> None:
        length = arrays.counts(tokens.text, minlength=n_items)
        first = np.cumsum(length) - length
        self.items = {size: np.flatnonzero(length == size) for size in range(shortest, n) if np.any(length == size)}
        self.known = {
            size: _Known(span_hashes(tokens.hashes, first[items], first[items] + size))
            for size, items in self.items.items()
        }

    def see(self, block: Block) -> None:
        for size, known in self.known.items():
            hashes, starts = ngrams(block.tokens, size)
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


class Characters:
    """Cosine of counts of character n-grams, over pairs that could reach the threshold."""

    def __init__(self, target: list[Block], n_items: int, threshold: float) -> None:
        self.nearest = _Nearest(n_items, threshold)
        parts = [(block.start, _character_counts(block.joined)) for block in target]
        rows = np.concatenate([part.row + np.int32(start) for start, part in parts])
        counts = np.concatenate([part.times for _, part in parts])
        self.vocabulary = np.unique(np.concatenate([np.unique(part.hashes) for _, part in parts]))
        places = [np.searchsorted(self.vocabulary, part.hashes).astype(np.int32) for _, part in parts]
        column = np.concatenate(places)
        # from rare to common: the few rare ones that a pair must share leave few pairs
        often = arrays.counts(column, minlength=len(self.vocabulary))
        self.rank = np.empty(len(often), dtype=np.int32)
        self.rank[np.argsort(often, kind="stable")] = np.arange(len(often), dtype=np.int32)
        norm = np.concatenate([part.norm for _, part in parts])
        del parts, places  # what is built next needs the room
        shape = (n_items, len(self.vocabulary))
        self.items = _scaled(sparse.csr_array((counts, (rows, self.rank[column])), shape=shape), norm)
        self.needed = _needed(self.items, threshold)

    def see(self, block: Block) -> None:
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

    def _vectors(self, block: Block) -> sparse.csr_array:
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


def _character_counts(joined: Joined) -> _Counts:
    """Every window of characters, counted; a shorter text is one window."""
    length = joined.last - joined.first
    windows = np.where(length > 0, np.maximum(1, length - CHARACTERS + 1), 0)
    rows = np.repeat(np.arange(len(length), dtype=np.int32), windows)
    offset = np.arange(len(rows)) - np.repeat(np.cumsum(windows) - windows, windows)
    begins = joined.first[rows] + offset
    hashes = span_hashes(joined.codes, begins, np.minimum(begins + CHARACTERS, joined.last[rows]))
    keys = hashes ^ mix(rows.astype(np.uint64) + np.uint64(1))  # a window and its text in one number
    _, where, times = np.unique(keys, return_index=True, return_counts=True)
    norm = np.sqrt(arrays.counts(rows[where], weights=times.astype(np.float64) ** 2, minlength=len(length)))
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


class Encoded:
    """Cosine of the vectors of an encoder."""

    def __init__(self, texts: list[str], encoder: Callable[[list[str]], Any], threshold: float) -> None:
        self.encoder = encoder
        self.nearest = _Nearest(len(texts), threshold)
        tiles = range(0, len(texts), TILE)
        self.items = np.concatenate([self._unit(texts[i : i + TILE], i, "test") for i in tiles])

    def see(self, block: Block) -> None:
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
        if np.abs(vectors).max(initial=0.0) > LARGEST:
            raise InputError(f"encoder gave numbers above {LARGEST:g}, whose squares overflow: scale them")
        norm = np.linalg.norm(vectors, axis=1)
        bad = np.flatnonzero(~(np.isfinite(norm) & (norm > 0)))
        if bad.size:
            raise InputError(f"encoder gave {side}[{start + bad[0]}] a vector of length {norm[bad[0]]}: no direction")
        return vectors / norm[:, None]

    def hits(self) -> Iterator[Hit]:
        return self.nearest.hits()
