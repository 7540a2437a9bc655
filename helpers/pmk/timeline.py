"""Which frame lies where in time: clips and frame numbers, with their ends and holes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief, listed
from .inputs import FURTHEST, places_of
from .record import FrameSets, check_sets


class Timeline:
    """Clip and number of every frame.

    Nothing is assumed about frames that are not there: a clip has a first and a last frame and may have holes, and what
    looks beyond them finds nothing.

    Parameters
    ----------
    clip, time : int arrays of shape (frames,)
        The clip that each frame belongs to, and its number there, in any order.

    Attributes
    ----------
    clip : int64 array of shape (frames,)
        Clips, numbered from 0.
    time : int64 array of shape (frames,)
        Frame numbers.
    clips : int
        Number of clips.
    span : int
        A step of so many frames, or more, leads out of every clip.
    unit : int64 array of shape (clips,)
        Clips of one number are not independent of each other; by default each clip is.

    Raises
    ------
    InputError
        No whole numbers, or some beyond a thousand million; unequal lengths, or two frames at one place.

    Examples
    --------
    >>> line = Timeline([0, 0, 0, 1], [3, 4, 6, 7])
    >>> line
    Timeline(4 frames in 2 clips, 1 hole)
    >>> line.at(1)  # the frame after each: none after a hole or the clip's end
    array([ 1, -1, -1, -1])
    """

    def __init__(self, clip: Any, time: Any) -> None:
        given, self.time = _whole(clip, "clip"), _whole(time, "time")
        if given.shape != self.time.shape:
            raise InputError(f"clip has {len(given)} frames and time {len(self.time)}: give both of each frame")
        names, self.clip = np.unique(given, return_inverse=True)
        self.clips = len(names)
        self.unit = np.arange(self.clips)
        # clips lie so far apart on one axis that steps within a span never lead from one into another
        self.span = int(np.ptp(self.time)) + 1
        self._place = self.clip * (2 * self.span) + (self.time - self.time.min())
        self._order = np.argsort(self._place, kind="stable")
        self._ordered = self._place[self._order]
        twice = np.flatnonzero(np.diff(self._ordered) == 0)
        if twice.size:
            first, second = self._order[twice[0]], self._order[twice[0] + 1]
            raise InputError(
                f"time[{first}] and time[{second}] are both {self.time[first]} in clip {given[first]}: "
                "one place holds one frame"
            )

    @classmethod
    def of_places(cls, places: Mapping[str, tuple[Hashable, int]]) -> Timeline:
        """From the clip, by any name, and the frame number of each frame key, in the order of the mapping.

        Raises
        ------
        InputError
            No mapping or an empty one, an entry that is no clip and whole number, or what the constructor refuses.

        Examples
        --------
        >>> Timeline.of_places({"a": ("clip 1", 7), "b": ("clip 1", 8), "c": ("clip 2", 1)})
        Timeline(3 frames in 2 clips, 0 holes)
        """
        if not isinstance(places, Mapping) or not places:
            raise InputError(f"places is {brief(places)}: give a mapping of frame to clip and frame number")
        for key, entry in places.items():
            if not isinstance(entry, tuple | list) or len(entry) != 2 or not isinstance(entry[0], Hashable):
                raise InputError(f"places[{brief(key)}] is {brief(entry)}: give the clip and the frame number in it")
            if not isinstance(entry[1], Integral) or isinstance(entry[1], bool) or abs(int(entry[1])) > FURTHEST:
                raise InputError(
                    f"places[{brief(key)}] has {brief(entry[1])}: frame numbers lie within {FURTHEST:,} of 0"
                )
        clips = [clip for clip, _ in places.values()]
        return cls(places_of(clips, dict.fromkeys(clips)), [int(number) for _, number in places.values()])

    @classmethod
    def of(cls, frames: FrameSets) -> Timeline:
        """Each set as a clip of its own, its anchor at time 0 and its frames at their offsets.

        What lies beyond a set is not known, so a set's ends are its clip's; sets of one group are one unit.

        Raises
        ------
        InputError
            No offsets, or frames in several sets: they would lie in two places.
        """
        check_sets(frames)
        if frames.offset is None:
            raise InputError("frames has no offsets, so that nobody knows its order in time: give them, or a Timeline")
        shared = np.flatnonzero(arrays.counts(np.concatenate([frames.anchor, frames.member])) > 1)
        if shared.size:
            names = listed([frames.frames[i] for i in shared])
            raise InputError(
                f"frames has {shared.size} frames in several sets: {names}; say where they lie in their clips"
            )
        clip, time = np.empty((2, len(frames.frames)), dtype=np.int64)
        clip[frames.anchor], time[frames.anchor] = frames.anchor, 0
        clip[frames.member], time[frames.member] = frames.row, frames.offset
        line = cls(clip, time)
        if frames.group is not None:
            line.unit = frames.group
        return line

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        holes = f"{self.holes} hole" + ("" if self.holes == 1 else "s")
        return f"Timeline({len(self)} frames in {self.clips} clips, {holes})"

    @property
    def holes(self) -> int:
        """How many times frames are left out within clips."""
        same = np.diff(self.clip[self._order]) == 0
        return int(np.sum(same & (np.diff(self._ordered) > 1)))

    def at(self, step: int) -> np.ndarray:
        """For each frame the one that lies `step` frames later (negative: earlier) in its clip, -1 where none does."""
        if abs(step) >= self.span:
            return np.full(len(self), -1, dtype=np.int64)
        wanted = self._place + step
        found = np.minimum(np.searchsorted(self._ordered, wanted), len(self) - 1)
        return np.where(self._ordered[found] == wanted, self._order[found], -1)

    def consecutive(self) -> tuple[np.ndarray, np.ndarray]:
        """The frames that have a next one, and those next ones, as places."""
        later = self.at(1)
        earlier = np.flatnonzero(later >= 0)
        return earlier, later[earlier]


def _whole(values: Any, name: str) -> np.ndarray:
    whole = arrays.whole_numbers(values, name, layout="a whole number for each frame", ndim=1)
    if not whole.size:
        raise InputError(f"{name} is empty: give a whole number for each frame, at least one")
    # places on one axis are products of two such numbers, which int64 must hold
    arrays.refuse_where((whole > FURTHEST) | (whole < -FURTHEST), whole, name, f"numbers lie within {FURTHEST:,} of 0")
    return whole.copy()
