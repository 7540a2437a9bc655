"""Contamination: planted copies are found, chance is not, and every check agrees with a slow one."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cl import searches
from helpers.cl import texts as cutting
from helpers.cl.contamination import find_contamination
from helpers.cl.searches import CHECKS
from helpers.cl.texts import normalise
from helpers.errors import InputError

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "pe") for b in ("r", "s", "t", "v")]
SENTENCE = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
OTHER = "nothing here has anything to do with any of that because it speaks of rather different things today"

sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=25).map(" ".join)
any_text = st.text(max_size=40)


@given(any_text, st.lists(any_text, max_size=5), st.integers(0, 5))
def test_a_planted_copy_is_always_found(text, corpus, place):
    corpus.insert(min(place, len(corpus)), text)
    found = find_contamination(corpus, [OTHER, text])
    assert 1 in found.found_by("exact")
    assert corpus[next(hit.train for hit in found.hits if (hit.test, hit.check) == (1, "exact"))] == text
    assert (1 in found.found_by("normalised")) == bool(normalise(text))
    assert (1 in found.found_by("neighbour")) == bool(normalise(text))


@given(sentences, st.lists(sentences, max_size=4), st.data())
def test_a_planted_copy_is_found_by_every_check_in_another_dress(text, corpus, data):
    sign = data.draw(st.sampled_from([" ", "  ", ", ", " - ", "\n", "\u3000"]))
    dressed = data.draw(st.sampled_from([str.upper, str.title, str]))(text.replace(" ", sign)) + "."
    found = find_contamination([*corpus, dressed], [text])
    size = len(text.split())
    expected = {"normalised", "neighbour"} | ({"ngram"} if size >= 13 else {"short"} if size >= 5 else set())
    assert expected <= {hit.check for hit in found.hits}
    assert found.too_short == ((0,) if size < 5 else ())


@given(sentences, st.lists(sentences, max_size=3), sentences, sentences)
def test_an_item_within_a_longer_text_is_found_from_five_tokens_on(text, corpus, before, after):
    found = find_contamination([*corpus, f"{before} {text}, {after}"], [text])
    checks = {hit.check for hit in found.hits}
    size = len(text.split())
    assert ("ngram" in checks) == (size >= 13)
    if 5 <= size < 13:
        assert "short" in checks
    if size < 5:
        assert "short" not in checks


def tokens(text):
    return normalise(text).split()


def coverage_by_search(item, corpus, n):
    """Share of the item's tokens within an n-gram that a training text has too, by looking at each."""
    words = tokens(item)
    grams = {tuple(text[i : i + n]) for text in map(tokens, corpus) for i in range(len(text) - n + 1)}
    covered = set()
    for i in range(len(words) - n + 1):
        if tuple(words[i : i + n]) in grams:
            covered |= set(range(i, i + n))
    return len(covered) / len(words)


few_words = st.lists(st.sampled_from("ab"), min_size=1, max_size=12).map(" ".join)


@given(st.lists(few_words, min_size=1, max_size=4), st.lists(few_words, min_size=1, max_size=4), st.integers(2, 5))
def test_ngrams_against_a_slow_search(corpus, items, n):
    found = find_contamination(corpus, items, ngram=n, coverage=0.5, shortest=2)
    for index, item in enumerate(items):
        share = coverage_by_search(item, corpus, n) if len(item.split()) >= n else 0.0
        scores = [hit.score for hit in found.hits if (hit.test, hit.check) == (index, "ngram")]
        assert scores == ([pytest.approx(share)] if share >= 0.5 else [])
        short = 2 <= len(item.split()) < n and any(f" {item} " in f" {text} " for text in corpus)
        assert (index in found.found_by("short")) == short


def cosine(first, second):
    a, b = (
        Counter(text[i : i + 5] for i in range(max(1, len(text) - 4))) for text in (normalise(first), normalise(second))
    )
    norm = math.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))
    return sum(a[gram] * b[gram] for gram in a) / norm


@given(
    st.lists(sentences, min_size=1, max_size=6),
    st.lists(sentences, min_size=1, max_size=6),
    st.sampled_from([0.2, 0.5, 0.8]),
)
def test_neighbours_against_a_slow_search(corpus, items, threshold):
    found = find_contamination(corpus, items, neighbour=threshold)
    hits = {hit.test: hit for hit in found.hits if hit.check == "neighbour"}
    for index, item in enumerate(items):
        cosines = [cosine(item, text) for text in corpus]
        best = max(cosines)
        if abs(best - threshold) < 1e-5:
            continue
        assert (index in hits) == (best > threshold)
        if index in hits:
            assert hits[index].score == pytest.approx(best, abs=1e-5)
            assert cosines[hits[index].train] == pytest.approx(best, abs=1e-5)


def test_small_blocks_and_tiles_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(1, 30))) for _ in range(150)]
    corpus = [*texts[:40], *(f"{OTHER} {text} x" for text in texts[40:60]), *texts[90:]]
    whole = find_contamination(corpus, texts[:90])
    assert {hit.check for hit in whole.hits} == set(CHECKS)
    for room, name, size in (
        (cutting, "BLOCK_TEXTS", 7),
        (cutting, "BLOCK_CHARACTERS", 200),
        (searches, "TILE", 11),
        (searches, "PAIRS", 3),
    ):
        monkeypatch.setattr(room, name, size)
        assert find_contamination(iter(corpus), texts[:90]) == whole


@pytest.mark.parametrize("split", [0.3, 0.6, 0.99])
def test_the_first_pass_loses_no_neighbour(monkeypatch, split):
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS, size=12)) for _ in range(300)]
    everything = find_contamination(texts[:150], texts[150:], neighbour=0.3)
    assert len(everything.found_by("neighbour")) > 20
    monkeypatch.setattr(searches, "SPLIT", split)
    assert find_contamination(texts[:150], texts[150:], neighbour=0.3) == everything


@pytest.mark.parametrize("words", range(4, 16, 2))
def test_the_first_pass_loses_no_neighbour_whose_common_part_is_boilerplate(words):
    """Boilerplate is common, so it falls to the second pass, and what is left must just do for the first."""
    rng = np.random.default_rng(2)
    own = ["".join(rng.choice(list("abcdefghij"), size=7)) for _ in range(120)]
    items = [f"{' '.join(own[10 * i : 10 * i + words])} {SENTENCE[:45]}" for i in range(12)]
    corpus = [f"{' '.join(own[10 * i : 10 * i + 2])} {SENTENCE[:45]}" for i in range(12)]
    for index in range(12):
        best = max(cosine(items[index], text) for text in corpus)
        assert index in find_contamination(corpus, items, neighbour=best - 1e-4).found_by("neighbour")


def test_one_changed_word_is_a_neighbour_and_no_ngram():
    changed = SENTENCE.replace("eight", "several")
    found = find_contamination([OTHER, changed], [SENTENCE])
    assert [hit.check for hit in found.hits] == ["neighbour"]
    assert found.hits[0].train == 1
    assert found.hits[0].score == pytest.approx(cosine(SENTENCE, changed), abs=1e-6)


def test_coverage_is_what_separates_a_common_phrase_from_a_copy():
    phrase = " ".join(SENTENCE.split()[:13])
    item = f"{phrase} {OTHER} {OTHER} {OTHER} {OTHER}"
    share = 13 / len(item.split())
    assert share < 0.2
    assert find_contamination([phrase], [item]).hits == ()
    found = find_contamination([phrase], [item], coverage=share)
    assert [(hit.check, hit.score) for hit in found.hits] == [("ngram", share)]


def test_ngrams_of_several_training_texts_add_up_and_the_one_with_most_is_named():
    words = [f"w{i}" for i in range(40)]
    corpus = [" ".join(words[:14]), OTHER, " ".join(words[12:40])]
    hit = next(hit for hit in find_contamination(corpus, [" ".join(words)]).hits if hit.check == "ngram")
    assert (hit.train, hit.score) == (2, 1.0)


def test_an_ngram_does_not_run_over_the_end_of_a_text():
    words = SENTENCE.split()
    assert find_contamination([" ".join(words[:8]), " ".join(words[8:])], [SENTENCE]).flagged == ()


def test_scripts_without_spaces_count_by_character():
    text = "持续学习的超参数选择有一个普通监督学习没有的陷阱"
    found = find_contamination([f"前言。{text}，用全部任务的验证集调参。"], [text, text[:8], text[:4]])
    assert found.found_by("ngram") == (0,)
    assert found.found_by("short") == (1,)
    assert found.too_short == (2,)
    assert find_contamination(["A持B续C学D习"], ["a 持 b 续 c 学 d 习"]).found_by("short") == (0,)


def test_what_normalises_to_nothing_is_only_compared_exactly():
    found = find_contamination(["?!", "..."], ["?!", "!!", OTHER])
    assert [(hit.test, hit.check) for hit in found.hits] == [(0, "exact")]
    assert found.empty == (0, 1)


def test_items_alike_are_each_found():
    found = find_contamination([OTHER], [OTHER, OTHER])
    assert found.flagged == (0, 1)
    assert [hit.check for hit in found.hits] == ["exact", "normalised", "ngram", "neighbour"] * 2


def test_the_settings_are_what_a_report_asks_for():
    found = find_contamination([SENTENCE, OTHER], [SENTENCE, "one two three four five"], ngram=8, coverage=0.5)
    counts = {check: found.settings[check]["hits"] for check in CHECKS}
    assert counts == {"exact": 1, "normalised": 1, "ngram": 1, "short": 1, "neighbour": 1}
    assert (found.settings["ngram"]["n"], found.settings["ngram"]["coverage"]) == (8, 0.5)
    assert "5 to 7 tokens" in found.settings["short"]["rule"]
    content = found.to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert (found.n_train, found.n_test) == (2, 2)


def letters(texts):
    """How often each letter occurs, a poor encoder."""
    return np.array([[text.lower().count(letter) for letter in "etaoinsh"] for text in texts]) + 0.1


def test_an_encoder_may_be_passed_in(monkeypatch):
    monkeypatch.setattr(searches, "TILE", 2)
    monkeypatch.setattr(cutting, "BLOCK_TEXTS", 2)
    corpus = ["nothing alike at all", "ssss", "tea tea", "eta eta"]
    found = find_contamination(corpus, ["zzz", "TEA TEA!", "hiss"], encoder=letters, neighbour=0.99)
    assert [(hit.test, hit.train) for hit in found.hits if hit.check == "neighbour"] == [(1, 2)]
    assert found.settings["neighbour"]["encoder"] == "letters"
    lower = find_contamination(corpus, ["zzz", "TEA TEA!", "hiss"], encoder=letters, neighbour=0.5)
    a, b = letters(["hiss"])[0], letters(["ssss"])[0]
    hit = next(hit for hit in lower.hits if hit.test == 2)
    assert (hit.train, hit.score) == (1, pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (lambda texts: np.ones(len(texts)), "encoder gave shape (2,) for 2 texts"),
        (lambda texts: np.ones((1, 3)), "encoder gave shape (1, 3) for 2 texts"),
        (lambda texts: np.arange(len(texts))[:, None], "encoder gave test[0] a vector of length 0.0"),
        (lambda texts: np.full((len(texts), 2), 1e200), "encoder gave numbers above 1e+100"),
        (lambda texts: np.full((len(texts), 2), np.nan), "test[0] a vector of length nan"),
        (lambda texts: np.ones((len(texts), len(texts))), "encoder gave 2 numbers a text at first, now 1"),
    ],
)
def test_encoder_refusals(encoder, message):
    with pytest.raises(InputError) as refusal:
        find_contamination(["x"], ["y", "z"], encoder=encoder)
    assert message in str(refusal.value)


def test_the_result_with_and_without_the_hits():
    items = [SENTENCE, OTHER, "alpha beta gamma delta epsilon", "one two three"]
    found = find_contamination([SENTENCE, "the alpha beta gamma delta epsilon"], items)
    assert found.flagged == (0, 2)
    effect = found.effect([True, False, True, True])
    assert (effect.all.count, effect.all.n) == (3, 4)
    assert (effect.clean.count, effect.clean.n) == (1, 2)
    assert (effect.flagged.count, effect.flagged.n) == (2, 2)
    assert effect.clean.interval[0] < 0.5 < effect.clean.interval[1]
    assert found.effect([1, 0, 1, 1], confidence=0.5).all.interval[0] > effect.all.interval[0]
    nothing = find_contamination(["other words"], items).effect([1, 1, 0, 0])
    assert (nothing.flagged.rate, nothing.flagged.reason) == (None, "no rows to count")
    assert nothing.clean == nothing.all
    assert json.loads(json.dumps(effect.to_dict(), allow_nan=False))["clean"]["n"] == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find_contamination("abc", ["x"]), "train is str: give several texts"),
        (lambda: find_contamination(["x"], "abc"), "test is str"),
        (lambda: find_contamination(["x"], None), "test is NoneType"),
        (lambda: find_contamination(["x", 3], ["x"]), "train[1] is int"),
        (lambda: find_contamination(["x"], ["x", None]), "test[1] is NoneType"),
        (lambda: find_contamination([], ["x"]), "train is empty"),
        (lambda: find_contamination(["x"], []), "test is empty"),
        (lambda: find_contamination(["x"], {"a": "x"}), "test is dict: give several texts"),
        (lambda: find_contamination(["x"], ["x"], encoder=3), "encoder is 3: give a function"),
        (lambda: find_contamination(["x"], ["x"], ngram=10**20), "give at most 10000 tokens"),
        (lambda: find_contamination(["x"], ["x"], ngram=1), "ngram is 1"),
        (lambda: find_contamination(["x"], ["x"], shortest=0), "shortest is 0"),
        (lambda: find_contamination(["x"], ["x"], coverage=0), "coverage is 0"),
        (lambda: find_contamination(["x"], ["x"], coverage=True), "coverage is True"),
        (lambda: find_contamination(["x"], ["x"], neighbour=1.1), "neighbour is 1.1"),
        (lambda: find_contamination(["x"], ["x"], neighbour=math.nan), "neighbour is nan"),
        (lambda: find_contamination(["x"], ["x"]).effect([1, 0]), "correct has shape (2,)"),
        (lambda: find_contamination(["x"], ["x"]).effect([0.5]), "correct holds values other than 0 and 1"),
        (lambda: find_contamination(["x"], ["x"]).effect(["1"]), "correct holds values other than 0 and 1"),
        (lambda: find_contamination(["x"], ["x"]).found_by("hash"), "check is 'hash'"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError) as refusal:
        call()
    assert message in str(refusal.value)


def test_an_unrelated_corpus_gives_nothing():
    """Random sentences over 2,000 words: what is found would be a fault of the hashes."""
    rng = np.random.default_rng(5)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), size=6)) for _ in range(2000)]
    texts = [" ".join(rng.choice(words, size=20)) for _ in range(2000)]
    assert find_contamination(texts[:1000], texts[1000:]).hits == ()
