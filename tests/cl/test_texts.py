"""Texts of the contamination checks: levelled alike, cut into tokens, hashed without mix-ups."""

import itertools
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.cl import texts
from helpers.cl.texts import normalise
from helpers.errors import InputError


@given(st.text(max_size=40))
@example("ΐ ſ İ ﬃ Ⅷ ½ ˚ ͅα")
@example("ᾳ\u0345 e\u0301\u200d\u0301 \ud800")
def test_normalisation_is_idempotent(text):
    assert normalise(normalise(text)) == normalise(text)


def test_normalisation_of_every_character_is_idempotent_and_finite():
    for code in itertools.chain(range(0x3400), range(0xA000, 0x20000, 7), range(0xE0000, 0xE0200)):
        once = normalise("a" + chr(code) + "\u0301")
        assert normalise(once) == once


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Hello, World!", "hello world"),
        ("  a\t\n b  ", "a b"),
        ("don’t", "don t"),
        ("don't", "don t"),
        ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
        ("ﬁne", "fine"),
        ("Straße", "strasse"),
        ("e\u0301", "\u00e9"),
        ("zero\u200bwidth and soft\u00adhyphen", "zerowidth and softhyphen"),
        ("हिन्दी", "हिन्दी"),
        ("3 + 4 = 7", "3 + 4 = 7"),
        ("?!...", ""),
    ],
)
def test_what_normalisation_levels(text, level):
    assert normalise(text) == level


@pytest.mark.parametrize("text", [None, 3, b"abc", ["a"]])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(InputError, match=r"^text is .*: give a text$"):
        normalise(text)


def test_span_hashes_tell_spans_apart_and_not_places():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, size=300).astype(np.uint64)
    first = rng.integers(0, 290, size=5000)
    last = first + rng.integers(1, 10, size=5000)
    hashes = texts.span_hashes(values, first, last).tolist()
    spans = [tuple(values[a:b].tolist()) for a, b in zip(first, last, strict=True)]
    assert len(set(hashes)) == len(set(spans)) == len(set(zip(hashes, spans, strict=True)))


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from([*"ab", "中", "文", "é", " "]), max_size=12).map("".join), max_size=5))
def test_tokens_are_words_and_single_characters(written):
    normal = [normalise(text) for text in written]
    found = texts.tokens_of(texts.join(normal))
    words = [(i, word) for i, text in enumerate(normal) for word in re.findall(r"[中文]|[^中文 ]+", text)]
    assert found.text.tolist() == [i for i, _ in words]
    assert len(set(found.hashes.tolist())) == len({word for _, word in words})


@pytest.mark.parametrize("name", ["THAI CHARACTER KO KAI", "HIRAGANA LETTER A", "CJK UNIFIED IDEOGRAPH-20000"])
def test_more_scripts_without_spaces(name):
    sign = unicodedata.lookup(name)
    assert len(texts.tokens_of(texts.join([sign * 3])).text) == 3
