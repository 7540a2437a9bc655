"""The winner map says who is best where, in the picture and in words."""

import numpy as np
import pytest

from helpers import tempora
from helpers.errors import InputError


def test_the_map_names_every_winner():
    utilities = np.array([[0.30, 0.2, 0.1, 0.0], [0.10, 0.2, 0.4, 0.0]])
    figure = tempora.show.winner_map(utilities, ["AdaBN", "ETA"], ["hard", "even", "easy", "dead"])
    assert figure.name == "winners"
    assert figure.alt == (
        "Utility in percent by method and scenario. The best in hard: AdaBN; even: AdaBN = ETA; easy: ETA; "
        "dead: AdaBN = ETA."
    )
    # one frame for each of the six cells that are best
    assert figure.svg.count("stroke: #d55e00") == 6


@pytest.mark.parametrize("utilities", [[0.1, 0.2], [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]])
def test_names_must_fit(utilities):
    with pytest.raises(InputError, match="scenarios 2 names: give one a column"):
        tempora.show.winner_map(np.array(utilities), ["AdaBN", "ETA"], ["hard", "easy"])


def test_what_is_no_utility_is_refused():
    with pytest.raises(InputError, match="must be finite"):
        tempora.show.winner_map(np.array([[0.1, np.nan]]), ["AdaBN"], ["hard", "easy"])
