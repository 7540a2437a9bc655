"""Without torch the models say which extra brings it."""

import subprocess
import sys


def test_a_missing_torch_is_named():
    code = "import sys; sys.modules['torch'] = None; import helpers.models.small"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].endswith("torch is not installed: pip install 'yardsticks[torch]'")
