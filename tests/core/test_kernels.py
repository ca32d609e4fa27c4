"""Compiled kernels give the same results as their uncompiled source."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import kernel_cases


@pytest.mark.slow
def test_the_interpreter_finds_the_same_numbers(recwarn):
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "tests.kernel_cases"]
    folder = Path(__file__).parents[2]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert ended.returncode == 0, ended.stderr
    interpreted, compiled = json.loads(ended.stdout), kernel_cases.numbers()
    assert interpreted.keys() == compiled.keys()
    for name, values in compiled.items():
        # fused and reordered additions: a few units in the last place of the largest term, more where terms cancel
        np.testing.assert_allclose(interpreted[name], values, rtol=1e-9, atol=1e-11, err_msg=name)
    assert all(isinstance(warning.message, UserWarning) for warning in recwarn)
