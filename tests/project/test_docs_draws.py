"""Stored draws of the documentation: each file names the script that created it, which has not changed since."""

import hashlib
from pathlib import Path

import pytest
import xarray as xr

import copula_discrepancy as cd

FOLDER = Path(__file__).parents[2] / "docs" / "draws"
FILES = sorted(FOLDER.glob("*.nc"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="docs/ is not part of the source distribution")


@pytest.mark.slow
def test_every_script_left_draws():
    made = {xr.load_datatree(path).attrs["script"] for path in FILES}
    assert made == {path.name for path in FOLDER.glob("make_*.py")}


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_stored_draws_are_those_of_the_present_script(path):
    told = xr.load_datatree(path).attrs
    script = FOLDER / told["script"]
    present = hashlib.sha256(script.read_text(encoding="utf-8").encode()).hexdigest()
    assert told["script_sha256"] == present, f"{script.name} has changed since it made {path.name}: make docs-draws"
    assert all(len(part.split()) == 2 for part in told["versions"].split(", "))  # "numpyro 0.22.0, jax 0.10.2"
    runs = len(xr.load_datatree(path).children)
    assert path.stat().st_size < 300_000 + 100_000 * (runs - 1)  # what a page may cost a clone; a file may have many runs


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_stored_draws_are_read(path):
    draws = cd.as_draws(path)
    assert draws.n_variables >= 2
    assert draws.n_chains * draws.n_draws >= 2000
