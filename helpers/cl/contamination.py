"""Contamination: which test items were in the training texts, by five checks, and what the result is without them.

Training texts are read once, a block at a time, so they may be a generator over files; what is kept in memory grows
with the test items only. Dates are checked in `timestamps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief
from ..uncertainty import Rate, check_confidence
from .searches import CHARACTERS, CHECKS, Characters, Encoded, Equal, Hit, Ngrams, Search, Short
from .texts import RULE, TOKENISER, Tokens, blocks, checked_texts, digest, digest_or_none

MOST_TOKENS = 10_000


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
        arrays.one_of(check, "check", CHECKS)
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
        A text that is none, named by side and index; no texts; a threshold out of range; an encoder that is no
        function, or whose vectors are of the wrong shape, not finite, or zero.

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
    for name, tokens_least, given in (("ngram", 2, ngram), ("shortest", 1, shortest)):
        if arrays.whole_number(given, name, least=tokens_least) > MOST_TOKENS:
            raise InputError(f"{name} is {brief(given)}: give at most {MOST_TOKENS} tokens")
    _share(coverage, "coverage")
    _share(neighbour, "neighbour")
    items = list(checked_texts(test, "test"))
    if encoder is not None and not callable(encoder):
        raise InputError(f"encoder is {brief(encoder)}: give a function from a list of texts to their vectors")
    if not items:
        raise InputError("test is empty: give at least one item")
    target = list(blocks(items, "test"))
    tokens = Tokens(
        np.concatenate([block.tokens.hashes for block in target]),
        np.concatenate([block.tokens.text + block.start for block in target]),
    )
    searches: list[Search] = [
        Equal("exact", target, lambda block: map(digest, block.texts)),
        Equal("normalised", target, lambda block: map(digest_or_none, block.normal)),
        Ngrams(tokens, len(items), ngram, coverage),
        Short(tokens, len(items), ngram, shortest),
        Characters(target, len(items), neighbour) if encoder is None else Encoded(items, encoder, neighbour),
    ]
    n_train = 0
    for block in blocks(train, "train"):
        n_train += len(block.texts)
        for search in searches:
            search.see(block)
    if not n_train:
        raise InputError("train is empty: give at least one text")
    found = [hit for search in searches for hit in search.hits()]
    lengths = arrays.counts(tokens.text, minlength=len(items))
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
