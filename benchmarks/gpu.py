"""Whatever of the core runs on a GPU, against the CPU of the same machine; says "no CUDA" where there is none.

Runs from a plain checkout with the torch that is there.

    python benchmarks/gpu.py [--json gpu.json]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from helpers import attacks, pa
from helpers.models.small import SmallCNN


def main() -> None:
    """Print one line per measurement; write them all with --json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA")
        return
    found = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, **agreement_on_both()}
    found |= attack_on_both()
    for name, value in found.items():
        print(f"{name}: {value}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def agreement_on_both(rows: int = 50_000, classes: int = 1_000) -> dict[str, float]:
    """Seconds of one score on each device, and how far the two values are apart."""
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(rows, classes, generator=generator)
    shifted = logits + torch.randn(rows, classes, generator=generator)
    on_gpu = [array.cuda() for array in (logits, shifted)]
    pa.agreement(*(array[:1000] for array in on_gpu))
    gpu, gpu_seconds = timed(lambda: pa.agreement(*on_gpu))
    cpu, cpu_seconds = timed(lambda: pa.agreement(logits, shifted))
    return {
        "agreement_gpu_s": gpu_seconds,
        "agreement_cpu_s": cpu_seconds,
        "agreement_difference_nat": abs(gpu.value - cpu.value),
    }


def attack_on_both(rows: int = 2_000) -> dict[str, float]:
    """Seconds of one PGD on each device, and the largest difference of a pixel."""
    x = torch.rand(rows, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    model = SmallCNN()
    cpu, cpu_seconds = timed(lambda: attacks.pgd(model, x, norm="linf", eps=0.1, random_start=False))
    model = model.cuda()
    attacks.pgd(model, x[:10].cuda(), norm="linf", eps=0.1)
    gpu, gpu_seconds = timed(lambda: attacks.pgd(model, x.cuda(), norm="linf", eps=0.1, random_start=False))
    difference = (gpu.inputs.cpu() - cpu.inputs).abs()
    return {
        "pgd_gpu_s": gpu_seconds,
        "pgd_cpu_s": cpu_seconds,
        "pgd_share_of_pixels_apart": float((difference > 1e-4).float().mean()),
    }


def timed(work: Callable[[], object]) -> tuple[object, float]:
    """The result and the seconds it took, with the device finished."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    main()
