"""Kernels of Triton give the same results as operations on tensors: where there is a graphics processor, or interpreted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import triton_cases

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")


@pytest.fixture(scope="module")
def errors():
    """The errors of all cases, from a process of their own: Triton decides when it is imported whether to interpret."""
    place = "cuda" if torch.cuda.is_available() else "cpu"
    environment = os.environ | ({} if place == "cuda" else {"TRITON_INTERPRET": "1"})
    command = [sys.executable, "-m", "tests.triton_cases", place]
    folder = Path(__file__).parents[2]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    if ended.returncode == triton_cases.NO_INTERPRETER and place == "cpu":
        pytest.skip(f"Triton's interpreter does not work here: {ended.stderr.strip().splitlines()[-1]}")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", triton_cases.CASES)
def test_kernels_find_the_same_numbers(errors, name):
    assert errors[name] <= triton_cases.CASES[name][1]
