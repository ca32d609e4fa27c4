"""What a first use waits for, and what it is told: kernels compiled into an empty cache."""

import json
from collections import Counter

import numpy as np
import pytest

from tests import loaded

LINE = "copula_discrepancy: compiling for this machine, once; about 10 seconds"

# What `compare a.csv b.csv --iid` may compile, each for one combination of types. Every entry is up to two seconds of a first
# use: a name that is missing here is to be looked at with `_core/kernels/compiled.py` beside it, before it is added.
KERNELS = {
    "chains": {"_extremes", "_squares", "_sum", "scale_and_variance"},
    "elliptical": {"gaussian_sums", "student_from_normal", "student_sums"},
    "form": {
        "centred_powers", "chance_in_effects", "correlate", "form_pairs", "influence_values", "less_fitted", "look_up",
        "product_of", "rank_effects", "tied_rank_effects", "total_of", "variable_tables",
    },
    "many_pairs": {
        "_elliptical_score", "elliptical_pair_scores", "gaussian_pair_sums", "pair_squares", "student_pair_sums",
    },
    "newton": {"newton_move", "newton_step"},
    "pairs": {"corner_shares", "finish_pairs", "gather", "start_pairs", "tail_flags"},
    "ranks": {"_count_inversions", "concordance_counts", "rank_column", "sums_above"},
}  # fmt: skip
# Modules of numba's whose functions may be compiled for them: arrays made and filled, min and max. Others bring along sorting,
# iteration over any array or, for their error messages, all of Python's strings: seconds each.
NUMBA = {"arrayobj", "builtins"}
FEWEST_OF_NUMBA = 5  # at least so many are compiled, or they are not seen
MOST_OF_NUMBA = 40

COMPARE = """
import json, sys
from numba.core import event

compiled = []

class Listener(event.Listener):
    def on_start(self, given):
        dispatcher = given.data["dispatcher"]
        compiled.append([dispatcher.py_func.__module__, dispatcher.py_func.__name__])

    def on_end(self, given):
        pass

event.register("numba:compile", Listener())
from copula_discrepancy.cli.parser import main

code = main(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump(compiled, file)
sys.exit(code)
"""

SMALL = """
import multiprocessing, sys
import numpy as np
import pytest
from copula_discrepancy._core import kernels
from copula_discrepancy._core.kernels import compiled

compiled._waiting._PATIENCE = 0.0  # any time is long: three kernels of a fifth of a second each
x, places = np.array([1.0, 2.0]), np.array([1, 0], np.int32)

def work():
    kernels.gather(x, places)
    assert "--first" not in sys.argv
    kernels.gaussian_sums(x, x)
    kernels.sums_above(places, places, x)

if "--worker" in sys.argv:
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join()
else:
    work()
"""


def run(cache, code, *arguments):
    return loaded.run(code, *arguments, environment={"NUMBA_CACHE_DIR": str(cache)})


@pytest.mark.slow
def test_a_first_comparison(tmp_path):
    rng = np.random.default_rng(1)
    files = tmp_path / "a.csv", tmp_path / "b.csv"
    for path in files:
        values = rng.standard_normal((1000, 5)) @ np.linalg.cholesky(0.5 * np.eye(5) + 0.5).T
        np.savetxt(path, values, delimiter=",", header="a,b,c,d,e", comments="")
    told = []
    for name in ("first", "second"):
        ended = run(tmp_path / "cache", COMPARE, tmp_path / name, "compare", *files, "--iid", "--json")
        assert ended.returncode == 0, ended.stderr
        assert len(json.loads(ended.stdout)["pairs"]) == 10  # the line is not among the numbers
        told.append(ended)
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("first", "second"))
    assert told[0].stderr.splitlines() == [LINE]
    assert not told[1].stderr
    assert told[0].stdout == told[1].stdout
    assert not second

    own = Counter((module.rpartition(".")[2], name) for module, name in first if module.startswith("copula_discrepancy."))
    assert own.keys() <= {(module, name) for module, names in KERNELS.items() for name in names}
    assert {name for _, name in own} >= {"rank_column", "start_pairs", "finish_pairs"}
    assert max(own.values()) == 1, [kernel for kernel, times in own.items() if times > 1]
    numbas = [module.rpartition(".")[2] for module, _ in first if module.startswith("numba.")]
    assert set(numbas) <= NUMBA
    assert FEWEST_OF_NUMBA <= len(numbas) <= MOST_OF_NUMBA


@pytest.mark.slow
def test_the_line_is_for_more_than_one_kernel_and_said_once(tmp_path):
    one = run(tmp_path, SMALL, "--first")
    assert not [line for line in one.stderr.splitlines() if "compiling" in line]
    assert "AssertionError" in one.stderr  # it came as far as the second kernel, and compiled none
    more = run(tmp_path, SMALL)
    assert (more.returncode, more.stdout, more.stderr.splitlines()) == (0, "", [LINE])
    again = run(tmp_path, SMALL)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


@pytest.mark.slow
def test_workers_do_not_repeat_the_line(tmp_path):
    ended = run(tmp_path, SMALL, "--worker")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(list(tmp_path.rglob("*.nbc"))) == 3
