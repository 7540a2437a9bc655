"""Folding: scores of many fine classes become scores of the few coarse ones that the labels know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief
from .inputs import MOST_CLASSES, is_class

#: How the scores of a group become one.
HOW: dict[str, Callable[..., np.ndarray]] = {"max": np.max, "sum": np.sum, "mean": np.mean, "median": np.median}


def fold(scores: Any, groups: Sequence[Sequence[int]], *, how: str = "max") -> np.ndarray:
    r"""Scores of coarse classes from those of their fine classes.

    .. math:: s_{ic} = \max_{j \in G_c} s_{ij}, \qquad s_{ic} = -\infty \text{ where } G_c = \emptyset,

    or the sum, the mean or the median instead of the maximum. A coarse class without a fine class can therefore never
    win. Filled with zero, as other code did, it wins wherever all logits are negative.

    Parameters
    ----------
    scores : array of shape (n, fine)
        Logits or probabilities, NumPy or torch. Minus infinity is a class that cannot win.
    groups : sequence of sequence of int
        The fine classes of each coarse class, from 0; see `groups_of` for a class map. Fine classes in no group are
        left out.
    how : str
        "max" (default, what both data sets' evaluation uses), "sum" (for probabilities, such as those of randomized
        smoothing), "mean" or "median".

    Returns
    -------
    float64 array of shape (n, coarse)

    Raises
    ------
    InputError
        Scores that are NaN or plus infinity, or no matrix; no group with a member; a fine class that is not there or is
        in two places; scores that add up to infinity; an unknown `how`.

    References
    ----------
    Shankar, Dave, Roelofs, Ramanan, Recht and Schmidt (2021), Do image classifiers generalize across time?, ICCV.

    Examples
    --------
    >>> fold([[0.30, 0.26, 0.25, 0.19]], [[0], [1, 2], []])
    array([[0.3 , 0.26, -inf]])
    >>> fold([[-3.0, -2.0, -2.5]], [[0], [1, 2], []]).argmax(axis=1)  # zero would win in the empty group
    array([1])
    """
    arrays.one_of(how, "how", HOW)
    if isinstance(scores, list | tuple):  # an array of them would turn True into 1
        arrays.floats(scores, "scores", remedy="give numbers, shape (n, fine classes)")
    matrix = arrays.to_numpy(arrays.check_matrix(scores, "scores", layout="a matrix of shape (n, fine classes)"))
    arrays.refuse_where(np.isnan(matrix) | (matrix == np.inf), matrix, "scores", "mend or leave out this row")
    checked = _check_groups(groups, matrix.shape[1])
    folded = np.full((len(matrix), len(checked)), -np.inf)
    with np.errstate(over="ignore"):
        for coarse, group in enumerate(checked):
            if group:  # half precision adds up to infinity beyond 65,504
                folded[:, coarse] = HOW[how](matrix[:, group].astype(np.float64), axis=1)
    beyond = np.argwhere(folded == np.inf)
    if beyond.size:
        row, coarse = beyond[0]
        raise InputError(f"scores[{row}] come to infinity over groups[{coarse}]: scale them down")
    return folded


def groups_of(class_map: Mapping[Any, Any], *, classes: int | None = None) -> list[list[int]]:
    r"""The fine classes of each coarse class, from a class map in either direction.

    .. math:: G_c = \{j : \text{map}(j) = c\}, \qquad c = 0, \ldots, C - 1,

    with each fine class j in one group at most; fine classes that the map does not name are in none. `fold` takes these
    groups, and `read_class_map` reads them from a file.

    Parameters
    ----------
    class_map : mapping
        Fine class to coarse class, or coarse class to list of fine classes. Keys may be texts, as in JSON.
    classes : int, optional
        Number of coarse classes, C; by default one more than the largest that the map names. Coarse classes that it
        does not name have no fine class.

    Returns
    -------
    list of list of int
        The fine classes of coarse class 0, 1, ..., in the order of the map.

    Raises
    ------
    InputError
        An empty map, keys or values that are no class numbers, two keys of one class ("7" and "07"), a fine class
        that has two coarse ones, both directions mixed, or a coarse class beyond `classes`.

    References
    ----------
    Both directions are those of the published class maps, ``class_idx_map.json`` and ``rev_class_idx_map.json`` of
    github.com/modestyachts/imagenet-testbed.

    Examples
    --------
    >>> groups_of({"7": 1, "8": 1, "404": 0}, classes=3)
    [[404], [7, 8], []]
    >>> groups_of({"0": [404], "1": [7, 8]})
    [[404], [7, 8]]
    """
    if not isinstance(class_map, Mapping) or not class_map:
        raise InputError("class_map is empty or no mapping: give fine classes and their coarse class")
    listed = {isinstance(value, list | tuple) for value in class_map.values()}
    if len(listed) > 1:
        raise InputError("class_map mixes class numbers and lists: give fine to coarse, or coarse to lists of fine")
    keys = [_class(key) for key in class_map]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"class_map has the class {twice} under two keys: keep one")
    pairs = [
        (_class(coarse), _class(fine))
        for key, value in class_map.items()
        for fine, coarse in ([(one, key) for one in value] if listed == {True} else [(key, value)])
    ]
    named = max((coarse for coarse, _ in pairs), default=-1) + 1
    if listed == {True}:
        named = max(keys) + 1
    count = named if classes is None else arrays.whole_number(classes, "classes", least=1)
    if named > count:
        raise InputError(f"class_map has the coarse class {named - 1}, but there are {count}: 0..{count - 1}")
    groups: list[list[int]] = [[] for _ in range(count)]
    home: dict[int, int] = {}
    for coarse, fine in pairs:
        if fine in home:
            raise InputError(f"class_map has the fine class {fine} in {home[fine]} and in {coarse}: give it one place")
        home[fine] = coarse
        groups[coarse].append(fine)
    return groups


def _class(value: Any) -> int:
    """A class number, which JSON writes as a text where it is a key."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        value = int(value)
    if not is_class(value):
        raise InputError(f"class_map has {brief(value)}: a class is a whole number from 0 to {MOST_CLASSES - 1}")
    return int(value)


def _check_groups(groups: Any, fine: int) -> list[list[int]]:
    """Lists of fine classes, each in one place only."""
    if isinstance(groups, Mapping | str):
        raise InputError(f"groups is a {type(groups).__name__}: groups_of makes lists of a class map")
    try:
        found = [list(group) for group in groups]
    except TypeError as error:
        raise InputError("groups is no list of lists: give the fine classes of each coarse class") from error
    seen: dict[int, int] = {}
    for coarse, group in enumerate(found):
        for member in group:
            if isinstance(member, bool) or not isinstance(member, Integral) or not 0 <= int(member) < fine:
                strange = brief(member)
                raise InputError(f"groups[{coarse}] has {strange}: of {fine} scores a class lies in 0..{fine - 1}")
            if int(member) in seen:
                raise InputError(f"groups[{coarse}] has {member}, which is in groups[{seen[int(member)]}] already")
            seen[int(member)] = coarse
    if not seen:
        raise InputError("groups has no fine class at all: no class could win")
    return found
