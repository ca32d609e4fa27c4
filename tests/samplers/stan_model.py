"""The model of CmdStan that Prophet's wheel contains, as a linear regression: its trend is flat, its regressors are free."""

import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np

PROPHET = find_spec("prophet")
FOLDER = Path(PROPHET.submodule_search_locations[0]) / "stan_model" if PROPHET else Path()
BINARY = FOLDER / "prophet_model.bin"
COEFFICIENTS = ["m", "beta"]  # the intercept and the slopes; y ~ N(m + X beta, sigma_obs)


def write_data(path: Path) -> np.ndarray:
    """Data of a regression for Prophet's model; returns the correlation of its coefficients, which are nearly normal."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    X[:, 1] = X[:, 0] + 0.5 * X[:, 1]
    X[:, 2] += 1.0  # its slope depends on the intercept
    y = 0.2 + X @ [0.5, -0.2, 0.1] + 0.3 * rng.normal(size=80)
    unused = {"cap": [0.0] * 80, "S": 1, "t_change": [0.5], "tau": 0.05, "s_m": [0.0] * 3}
    data = {"T": 80, "K": 3, "t": np.linspace(0, 1, 80).tolist(), "y": y.tolist(), "X": X.tolist(), "sigmas": [10.0] * 3}
    path.write_text(json.dumps(data | unused | {"trend_indicator": 2, "s_a": [1.0] * 3}))
    design = np.column_stack([np.ones(80), X])
    covariance = np.linalg.inv(design.T @ design)
    sd = np.sqrt(np.diag(covariance))
    return covariance / np.outer(sd, sd)


def command(method: list[str], data: Path, output: Path, chain: int = 1) -> list[str]:
    """The command line of a run; chains differ by `id`, not by `seed`."""
    return [str(BINARY), *method, f"id={chain}", "data", f"file={data}", "random", "seed=1", "output", f"file={output}"]


def run(method: list[str], data: Path, output: Path, chain: int = 1) -> Path:
    """Run to the end, on one thread."""
    environment = os.environ | {"STAN_NUM_THREADS": "1"}
    subprocess.run(command(method, data, output, chain), check=True, capture_output=True, env=environment, cwd=output.parent)
    return output
