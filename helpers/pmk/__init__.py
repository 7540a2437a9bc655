"""PM-k: does a classifier or detector hold from one video frame to the next?"""

from ..lazy import attributes
from .boxes import Boxes, Detections
from .clips import sets_of_clips
from .coco import read_coco, read_coco_results, write_coco, write_coco_results
from .detectors import DetectionScore, detection, localisation
from .effective import EffectiveRobustness, Line, Testbed, effective_robustness, fit_line, read_testbed
from .flips import (
    Relative,
    flip_probability,
    flips_in_time,
    mean_flip_rate,
    mean_top5_distance,
    top5_distance,
)
from .folding import fold, groups_of
from .frame_types import Ablation, frame_type_ablation, without_types
from .judged import Tally
from .neighbours import Neighbours, neighbour_averages
from .offsets import OffsetErrors, offset_errors
from .precision import MeanAP, frame_ap, mean_ap
from .readers import read, read_class_map, read_predictions, read_sets
from .record import FrameSets, Predictions, aligned
from .resampling import Average
from .review import ReviewEffect, accepted, review_effect
from .score import Score, counts, score
from .smoothing import Delay, Smoothed, SmoothingEffect, delay, smooth, smoothing_effect
from .timeline import Timeline

__all__ = [
    "Ablation",
    "Average",
    "Boxes",
    "Delay",
    "DetectionScore",
    "Detections",
    "EffectiveRobustness",
    "FrameSets",
    "Line",
    "MeanAP",
    "Neighbours",
    "OffsetErrors",
    "Predictions",
    "Relative",
    "ReviewEffect",
    "Score",
    "Smoothed",
    "SmoothingEffect",
    "Tally",
    "Testbed",
    "Timeline",
    "accepted",
    "aligned",
    "counts",
    "delay",
    "detection",
    "effective_robustness",
    "fit_line",
    "flip_probability",
    "flips_in_time",
    "fold",
    "frame_ap",
    "frame_type_ablation",
    "groups_of",
    "localisation",
    "mean_ap",
    "mean_flip_rate",
    "mean_top5_distance",
    "neighbour_averages",
    "offset_errors",
    "read",
    "read_class_map",
    "read_coco",
    "read_coco_results",
    "read_predictions",
    "read_sets",
    "read_testbed",
    "review_effect",
    "score",
    "sets_of_clips",
    "smooth",
    "smoothing_effect",
    "top5_distance",
    "without_types",
    "write_coco",
    "write_coco_results",
]

__getattr__ = attributes(
    __name__, {"explore": ".explore jupyter", "loss": ".training:loss torch", "show": ".show jupyter"}
)
