"""Frame sets of whole clips: the frames around the middle of each, where nobody has chosen anchors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .. import arrays
from ..errors import InputError, brief, listed
from .record import FrameSets


def sets_of_clips(
    clips: Mapping[str, Sequence[str]],
    labels: Mapping[str, int | Iterable[int]],
    *,
    k: int = 10,
    every: int | None = None,
    classes: int | None = None,
) -> FrameSets:
    """Frame sets of labelled clips: the middle frame of each is its anchor, the frames within `k` of it are similar.

    Nobody has reviewed these sets. A cut, an object that leaves, or a label that holds for a part of the clip makes
    frames wrong that the source's reviewers would have taken out, and the drop larger; `accepted` takes out what you
    reject.

    Parameters
    ----------
    clips : mapping of str to sequence of str
        Frame keys of each clip in the order of time, at one frame rate and without holes.
    labels : mapping of str to int or to iterable of int
        The class of each clip, or the classes of which one is enough.
    k : int
        Largest offset, 10 by default as in the source. A score asks for one as well, at most this.
    every : int, optional
        One anchor in every so many frames, in their middle. By default one in each clip, so that intervals are exact;
        anchors of one clip are one group. Below 2 k + 1 their sets share frames.
    classes : int, optional
        Number of classes, as for `FrameSets`.

    Returns
    -------
    FrameSets
        With offsets, and the clip of each anchor as its group.

    Raises
    ------
    InputError
        No clips, an empty one, keys that are no texts, a frame in two clips or twice in one, clips without labels or
        the other way round, a `k` or `every` below 1; a label that `FrameSets` refuses.

    Examples
    --------
    >>> frames = sets_of_clips({"dog": ["d0", "d1", "d2", "d3"], "cat": ["c0", "c1", "c2"]}, {"dog": 0, "cat": 1}, k=1)
    >>> frames.anchors, frames.frames[2:], frames.offset
    (('d2', 'c1'), ('d1', 'd3', 'c0', 'c2'), array([-1,  1, -1,  1]))
    """
    arrays.whole_number(k, "k", least=1)
    step = None if every is None else arrays.whole_number(every, "every", least=1)
    for name, given in (("clips", clips), ("labels", labels)):
        if not isinstance(given, Mapping) or not given:
            raise InputError(f"{name} is {brief(given)}: give a mapping of at least one clip")
    unlike = [clip for clip in {**clips, **labels} if clip not in clips or clip not in labels]
    if unlike:
        raise InputError(f"clips and labels differ in {len(unlike)} clips: {listed(unlike)}; give both of each")
    sets: dict[str, list[str]] = {}
    offsets: dict[str, list[int]] = {}
    groups: dict[str, str] = {}
    judged: dict[str, int | Iterable[int]] = {}
    for clip, frames in clips.items():
        if not isinstance(frames, list | tuple) or not frames:
            raise InputError(f"clips[{brief(clip)}] is {brief(frames)}: give a list of at least one frame key")
        strange = [key for key in frames if not isinstance(key, str)]
        if strange:
            raise InputError(f"clips[{brief(clip)}] has the key {brief(strange[0])}: frames are named by texts")
        if len(set(frames)) < len(frames):
            raise InputError(f"clips[{brief(clip)}] holds a frame twice: list each once, in the order of time")
        for begin in range(0, len(frames), step or len(frames)):
            end = len(frames) if step is None else min(begin + step, len(frames))
            middle = (begin + end) // 2
            anchor = frames[middle]
            if anchor in sets:
                raise InputError(
                    f"clips[{brief(clip)}] holds {brief(anchor)}, which clips[{brief(groups[anchor])}] has too: "
                    "give each frame a name of its own"
                )
            near = [i for i in range(max(0, middle - k), min(len(frames), middle + k + 1)) if i != middle]
            sets[anchor], offsets[anchor] = [frames[i] for i in near], [i - middle for i in near]
            groups[anchor], judged[anchor] = clip, labels[clip]
    return FrameSets(sets, judged, offsets=offsets, groups=groups, classes=classes, provenance={"format": "clips"})
