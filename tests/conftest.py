"""What every test shares: one numeric thread, reproducible examples, and the folders that tests may need."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent

# Read when NumPy, torch or numba is first imported: more threads only disturb each other here.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
# A script's background process ignores Ctrl-C, and so would every child that a test wants to interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / "_build" / "cache" / "hypothesis"))

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.load_profile("ci")


@pytest.fixture(scope="session")
def html() -> Path:
    """The folder of a built book, named by the environment variable YARDSTICKS_HTML."""
    named = os.environ.get("YARDSTICKS_HTML")
    if not named:
        pytest.skip("no built book: set YARDSTICKS_HTML to its folder, or run `make test`")
    folder = ROOT / named
    assert (folder / "index.html").is_file(), f"YARDSTICKS_HTML names {named}, which holds no index.html"
    return folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `shared` beside the checkout: public data sets that are too large for the repository."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no ../shared beside the checkout")
    return folder
