"""Ranks, counts, errors of chains, sums and Stein kernels on tensors, against brute force and the compiled loops."""

import math
import threading
import time

import numpy as np
import pytest
from scipy.stats import rankdata

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import copula_discrepancy as cd  # noqa: E402
from copula_discrepancy._core import kernels  # noqa: E402
from copula_discrepancy._core.tensors import chains, ranks, stein, sums  # noqa: E402
from copula_discrepancy._core.tensors import device as devices  # noqa: E402
from copula_discrepancy._core.tensors.device import Device, checked_device, numbers  # noqa: E402
from copula_discrepancy.data import resident  # noqa: E402
from copula_discrepancy.data.draws import Draws  # noqa: E402
from copula_discrepancy.estimate.ranks import rank_column  # noqa: E402
from tests.elsewhere import CUDA, CUDA_HOST, Elsewhere  # noqa: E402
from tests.refusals import refused  # noqa: E402

PROCESSOR = torch.device("cpu")
PLENTY = 2.0**30  # bytes: everything in one part
LITTLE = 1.0  # as small a part as there is
BUDGETS = PLENTY, LITTLE, 5e4


def on(array):
    """A copy as a tensor."""
    return torch.tensor(np.asarray(array))


# ---- ranks -----------------------------------------------------------------------------------------------------------


def tied(rng, shape):
    """Some nine different values."""
    return np.round(2.0 * rng.standard_normal(shape)) + 0.0  # not minus zero, which has a rank of its own


COLUMNS = {
    "no ties": lambda rng, n: rng.standard_normal((4, n)),
    "ties": lambda rng, n: tied(rng, (4, n)),
    "some have ties": lambda rng, n: np.concatenate([tied(rng, (2, n)), rng.standard_normal((2, n))]),
    "two values": lambda rng, n: rng.integers(0, 2, (4, n)).astype(float),
    "one value": lambda rng, n: np.ones((4, n)),
    "perfect": lambda rng, n: np.arange(n) * np.array([[1.0], [-1.0], [1.0], [-1.0]]),
}


@pytest.fixture(params=COLUMNS)
def columns(request):
    """Four variables of 33 draws."""
    return COLUMNS[request.param](np.random.default_rng(1), 33)


def test_ranks_are_those_of_the_compiled_loop(columns):
    found = ranks.RankTensors.of(on(columns))
    for k, column in enumerate(columns):
        expected = rank_column(column)
        assert numbers(found.order[k]).tolist() == expected.order.tolist()
        assert numbers(found.rank[k]).tolist() == expected.rank.tolist()
        assert int(found.ties[k]) == expected.tied_pairs
        assert numbers(found.size[k]).tolist() == [int(np.sum(column == value)) for value in column]
        assert numbers(found.doubled[k]).tolist() == (2 * rankdata(column)).tolist()


def test_ranks_of_chains_are_those_of_each_chain(columns):
    found = ranks.RankTensors.of(on(columns.reshape(4, 3, 11)))
    for k, chain in enumerate(columns.reshape(12, 11)):
        assert numbers(found.rank.reshape(12, 11)[k]).tolist() == rank_column(chain).rank.tolist()


@pytest.mark.parametrize("block", [(0, 5), (7, 8), (20, 33)])
def test_some_variables_without_a_block_of_draws(columns, block):
    found = ranks.RankTensors.of(on(columns)).at(on([2, 0])).without(*block)
    left = np.delete(columns[[2, 0]], slice(*block), axis=1)
    for part, expected in zip(found, ranks.RankTensors.of(on(left)), strict=True):
        assert torch.equal(part, expected)


# ---- counts ----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["signs", "bits"])
def counting(request, monkeypatch):
    """Both ways of counting, of which the second is for many draws."""
    if request.param == "bits":
        monkeypatch.setattr(ranks, "_SMALL", 10)
    return request.param


def concordant(x, y):
    """Concordant minus discordant draws of each draw, by the signs of all differences."""
    return np.sum(np.sign(x[:, None] - x) * np.sign(y[:, None] - y), axis=1).astype(int)


def within_chains(x, y, n_chains):
    """The same among the draws of its chain."""
    chained = zip(x.reshape(n_chains, -1), y.reshape(n_chains, -1), strict=True)
    return np.concatenate([concordant(*chain) for chain in chained])


@pytest.mark.parametrize("n_chains", [1, 3])
def test_concordances_equal_brute_force(columns, counting, n_chains):
    """Of a tile: pairs in any order, not all that the tile has."""
    rank = ranks.RankTensors.of(on(columns)).rank
    pairs = [(1, 2), (0, 0), (0, 2), (1, 0)]
    places = tuple(on(part) for part in np.array(pairs).T.copy())
    together = [concordant(columns[i], columns[1 + j]).tolist() for i, j in pairs]
    alone = [within_chains(columns[i], columns[1 + j], n_chains).tolist() for i, j in pairs]
    for budget in BUDGETS:
        whole, own = ranks.concordances(rank[:2], rank[1:], places, n_chains, budget)
        assert numbers(whole).tolist() == together
        assert numbers(own).tolist() == alone


def test_totals_equal_brute_force(columns, counting):
    rank = ranks.RankTensors.of(on(columns)).rank
    expected = np.array([[concordant(x, y).sum() / 2 for y in columns] for x in columns])
    for budget in BUDGETS:
        assert numbers(ranks.concordance_totals(rank, rank, budget)).tolist() == expected.tolist()
        assert numbers(ranks.concordance_totals(rank[:3], rank[1:], budget)).tolist() == expected[:3, 1:].tolist()


@pytest.mark.parametrize("edges", [[0, 33], [0, 5, 6, 20, 33], list(range(34))], ids=["one", "four", "every draw"])
def test_sums_over_batches_equal_brute_force(columns, counting, edges):
    rank = ranks.RankTensors.of(on(columns)).rank
    every = np.array([[concordant(x, y) for y in columns[1:]] for x in columns[:2]])
    expected = np.moveaxis(np.add.reduceat(every, edges[:-1], axis=2), 2, 0)
    for budget in BUDGETS:
        found = numbers(ranks.concordance_batches(rank[:2], rank[1:], edges, budget))
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", COLUMNS)
def test_counting_by_bits_at_every_length(name):
    """Powers of two, and lengths beside them: numbers of bits change there."""
    for n in (2, 3, 4, 5, 16, 17, 31, 64, 100):
        columns = COLUMNS[name](np.random.default_rng(n), n)
        rank = ranks.RankTensors.of(on(columns)).rank
        found = numbers(ranks.concordance(rank[[0, 0, 2]], rank[[1, 3, 3]]))
        assert found.tolist() == [concordant(columns[i], columns[j]).tolist() for i, j in ((0, 1), (0, 3), (2, 3))]


def test_counting_by_bits_is_that_of_the_compiled_loop():
    """More draws than brute force can count: 40,000 with ties, and without."""
    rng = np.random.default_rng(2)
    values = rng.standard_normal((3, 40_000))
    values[2] = np.round(values[2], 1)
    found = ranks.RankTensors.of(on(values))
    counts = numbers(ranks.concordance(found.rank[[0, 0]], found.rank[[1, 2]]))
    columns = [rank_column(column) for column in values]
    for k, (a, b) in enumerate(((columns[0], columns[1]), (columns[0], columns[2]))):
        expected = kernels.concordance_counts(a.order, a.rank, a.tied_pairs, b.order, b.rank, b.tied_pairs)
        assert np.array_equal(counts[k], expected)


def test_sums_of_signs_are_exact_beyond_single_precision():
    """6,002 concordant draws make 18 million concordant pairs, an odd number above 2**24, which float32 does not have."""
    rank = torch.arange(6002)[None]
    assert numbers(ranks.concordance_totals(rank, rank, 2.0**25)).item() == 3001 * 6001


# ---- chains ----------------------------------------------------------------------------------------------------------


def series(n_chains, n_draws, seed=1):
    """Series (series, draw) of every kind: autocorrelated to any degree, constant, of few values, far from 0, large, small."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((9, n_chains, n_draws))
    for row, phi in zip(noise, (0.0, 0.5, 0.95, 0.999, -0.9), strict=False):
        for t in range(1, n_draws):
            row[:, t] = phi * row[:, t - 1] + math.sqrt(1.0 - phi**2) * row[:, t]
    noise[5] = 3.7
    noise[6] = np.sign(noise[6])
    noise[7] = 1e3 + noise[7]
    noise[8] *= 1e-140
    return noise.reshape(9, -1)


# short and long ones, single and many, odd numbers of draws, and batches of two and three draws
SHAPES = [
    (1, 4), (1, 5), (1, 19), (1, 23), (1, 1000), (2, 4), (3, 20), (2, 21), (4, 251), (7, 100), (50, 10), (60, 41), (1, 8193),
    (2, 12_289),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_long_run_variances_are_those_of_the_compiled_loop(shape):
    values = series(*shape)
    found = np.stack([numbers(part) for part in chains.long_runs(on(values), shape[0])], axis=1)
    expected = [kernels.long_run(row.reshape(shape), False) for row in values]
    # autocovariances by FFT against sums over lags; a mean of a thousand standard deviations costs six of sixteen digits
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert np.isnan(found[5]).all()


def test_long_run_variances_of_independent_draws():
    values = series(4, 50)
    found = np.stack([numbers(part) for part in chains.long_runs(on(values), None)], axis=1)
    np.testing.assert_allclose(found, [kernels.long_run(row.reshape(4, 50), True) for row in values], rtol=1e-9)


def test_draws_that_alternate_in_step_with_the_batches():
    """Batches of two draws have one mean then: these series, and no others, are not averaged."""
    values = np.stack([np.tile([1.0, -1.0], 4096), series(1, 8192)[1], np.tile([2.0, 1.0], 4096)])
    found = np.stack([numbers(part) for part in chains.long_runs(on(values), 1)], axis=1)
    np.testing.assert_allclose(found, [kernels.long_run(row[None], False) for row in values], rtol=1e-8)


def test_copies_of_one_short_chain_do_not_tell_how_means_vary():
    rng = np.random.default_rng(3)
    values = np.stack([np.tile(rng.standard_normal(10), 5), rng.standard_normal(50)])
    found = np.stack([numbers(part) for part in chains.long_runs(on(values), 5)], axis=1)
    np.testing.assert_allclose(found, [kernels.long_run(row.reshape(5, 10), False) for row in values], rtol=1e-9)


@pytest.mark.parametrize("n_chains", [None, 1, 4])
def test_standard_errors_of_means_are_those_of_the_compiled_loop(n_chains):
    values = series(4, 60).reshape(3, 3, 240)
    found = np.stack([numbers(part) for part in chains.mean_errors(on(values), n_chains)], axis=-1)
    expected = [[kernels.spread(row, n_chains) for row in part] for part in values]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("shape", [(1, 1000), (4, 251), (3, 20), (2, 21), (7, 100), (4, 19)], ids=str)
def test_rhats_are_those_of_the_compiled_loop(shape):
    values = series(*shape)
    values[4].reshape(shape)[0] += 3.0  # chains that disagree
    found = numbers(chains.split_rhats(on(values), shape[0]))
    np.testing.assert_allclose(found, [kernels.split_rhat(row.reshape(shape)) for row in values], rtol=1e-9)
    assert np.isnan(found).all() if shape[1] < 20 else found[5] == 1.0


def test_rhat_of_chains_that_stand_still_apart():
    assert numbers(chains.split_rhats(on(np.repeat([0.0, 1.0], 40)), 2)) == math.inf


# ---- sums ------------------------------------------------------------------------------------------------------------


def above_by_definition(column, values):
    weights = (column[:, None] < column) + 0.5 * (column[:, None] == column)
    return values @ weights.T


def test_sums_above_equal_brute_force(columns):
    rng = np.random.default_rng(4)
    values, several = rng.standard_normal((3, 33)), rng.standard_normal((3, 2, 5, 33))
    chosen = [3, 0, 3]
    ranked = sums.PairRanks.of(ranks.RankTensors.of(on(columns)), on(chosen))
    for given in (values, several):
        found = numbers(sums.sums_above(on(given), ranked))
        expected = np.stack([above_by_definition(columns[k], part) for k, part in zip(chosen, given, strict=True)])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)  # 33 numbers of order 1


@pytest.mark.parametrize(("tail", "width"), [(0.1, 0.05), (0.25, 0.3), (0.02, 0.0), (1 / 17, 1 / 34)])
def test_tail_flags_are_those_of_the_compiled_loop(columns, tail, width):
    found = numbers(sums.tail_flags(ranks.RankTensors.of(on(columns)).doubled, tail, width))
    for k, column in enumerate(map(rank_column, columns)):
        expected = np.empty(33, np.uint8)
        kernels.tail_flags(column.rank, column.tied_pairs, tail, width, expected)
        assert found[k].tolist() == expected.tolist()


def test_square_counts_equal_brute_force():
    first, second = np.random.default_rng(5).integers(0, 6, (2, 4, 101))
    found = numbers(sums.square_counts((on(first), on(second)), 6))
    for k in range(4):
        expected = np.zeros((6, 6))
        np.add.at(expected, (first[k], second[k]), 1.0)
        assert found[k].tolist() == expected.ravel().tolist()


@pytest.mark.parametrize(("n_chains", "n_batches"), [(1, 4), (3, 4), (3, 1), (3, 11)])
def test_batch_sums_equal_brute_force(n_chains, n_batches):
    values = np.random.default_rng(6).standard_normal((2, 5, 33))
    size = 33 // n_chains // n_batches
    found = numbers(sums.batch_sums(on(values), n_chains, n_batches))
    assert found.shape == (2, 5, n_chains * n_batches)
    for chain in range(n_chains):
        for batch in range(n_batches):
            start = chain * (33 // n_chains) + batch * size
            expected = values[..., start : start + size].sum(axis=-1)
            np.testing.assert_allclose(found[..., chain * n_batches + batch], expected, rtol=0, atol=1e-13)


# ---- Stein kernels ---------------------------------------------------------------------------------------------------


def stein_matrix(x, s, c, beta):
    """k_p(x_i, x_j) for all i and j of points and scores (n, d), term by term from the definition."""
    gap = x[:, None] - x[None]
    r2 = (gap**2).sum(-1)
    q = c * c + r2
    gradient = (2 * beta * q ** (beta - 1))[..., None] * gap
    trace = -2 * beta * x.shape[1] * q ** (beta - 1) - 4 * beta * (beta - 1) * q ** (beta - 2) * r2
    return (s @ s.T) * q**beta - np.einsum("id,ijd->ij", s, gradient) + np.einsum("jd,ijd->ij", s, gradient) + trace


@pytest.mark.parametrize(("c", "beta"), [(1.0, -0.5), (0.3, -0.5), (2.0, -0.8)])
@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_stein_sums_equal_the_matrix(d, c, beta):
    """Points far from 0, whose inner products would lose seven digits if they were not about their mean."""
    rng = np.random.default_rng(d)
    x, weights = rng.normal(0.0, 2.0, (15, d)), rng.standard_normal((15, 4))
    s = np.cos(x) - x
    matrix = stein_matrix(x, s, c, beta)
    points = stein.SteinPoints.of(on(1e3 + x.T), on(s.T), c, beta)
    tolerance = {"rtol": 1e-10, "atol": 1e-12 * np.abs(matrix).sum()}  # 1e3 + x has three digits fewer than x
    expected = np.einsum("ik,ij,jk->k", weights, matrix, weights)
    for budget in (PLENTY, LITTLE, 64.0 * 49):  # one tile, tiles of one point, and of seven
        np.testing.assert_allclose(numbers(stein.row_sums(points, budget)), matrix.sum(1) - np.diag(matrix), **tolerance)
        np.testing.assert_allclose(numbers(stein.quadratic_forms(points, on(weights), budget)), expected, **tolerance)


# ---- devices ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def place():
    """The processor as a device, with turns of its own."""
    return Device(torch, PROCESSOR, "processor")


def test_a_device_of_the_processor():
    found, notes = checked_device(PROCESSOR)
    assert found.place == PROCESSOR
    assert not found.is_cuda
    assert notes == ()
    assert checked_device(torch.device("cpu"))[0] is found  # turns are shared by all calls
    assert checked_device("cpu") == (None, ())


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ("gpu", "unknown-name", "'cpu', 'cuda'"),
        ("CUDA", "unknown-name", "'cpu', 'cuda'"),
        ("cpu:0", "unknown-name", "'cpu', 'cuda'"),
        (3, "argument", "got 3"),
        (None, "argument", "got None"),
        (torch.float32, "argument", "torch.float32"),
        (torch.device("mps"), "argument", "float64"),
        (torch.device("meta"), "argument", "float64"),
    ],
    ids=str,
)
def test_what_is_no_device(given, code, says):
    with refused(code) as caught:
        checked_device(given)
    assert says in str(caught.value)


def test_running_out_of_memory_is_a_memory_error(place):
    """And no turn is lost by it: there are a few."""
    ended = []

    def fail():
        for _ in range(devices._TURNS + 1):
            with pytest.raises(MemoryError, match=r"^processor: not enough"), place.turn():
                raise torch.OutOfMemoryError("not enough of it")
        with pytest.raises(ZeroDivisionError), place.turn():
            1 / 0  # noqa: B018
        ended.append(True)

    worker = threading.Thread(target=fail, daemon=True)  # which waits for ever if turns are lost
    worker.start()
    worker.join(10.0)
    assert ended == [True]


def test_so_many_parts_at_a_time(place):
    now, most, lock = 0, 0, threading.Lock()

    def work():
        nonlocal now, most
        with place.turn():
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.05)
            with lock:
                now -= 1

    workers = [threading.Thread(target=work) for _ in range(2 * devices._TURNS + 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert most == devices._TURNS


def test_tensors_and_arrays(place):
    array = np.arange(6.0).reshape(2, 3)
    array.flags.writeable = False  # of which PyTorch warns
    tensor = place.tensor(array.T)
    tensor += 1.0
    assert array[0, 0] == 0.0
    assert numbers(tensor).tolist() == (array.T + 1.0).tolist()
    assert numbers(torch.ones(2, requires_grad=True)).tolist() == [1.0, 1.0]
    assert place.tensor([1, 2], torch.float64).dtype == torch.float64


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.zeros(3), False),
        (torch.zeros(3), False),
        (torch.zeros(3, requires_grad=True), False),
        (Elsewhere(torch.zeros(3)), True),
        (Elsewhere(torch.zeros(3), CUDA), True),
        (Elsewhere(torch.zeros(3), CUDA_HOST), False),  # memory of the processor that a CUDA device can read
        (Elsewhere, False),  # a class has the method, and no place
        (cd.as_draws(np.arange(8.0).reshape(4, 2)), False),
        ([1.0, 2.0], False),
        (None, False),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_on_a_device(given, expected):
    assert resident.is_resident(given) is expected


def test_draws_on_a_device_are_taken_over_as_they_are(place):
    values = torch.randn(2, 30, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = resident.brought_home(Elsewhere(values), place, "draws")
    assert isinstance(found, Draws)
    assert found.values.tolist() == values.tolist()
    assert found.resident.data_ptr() == values.data_ptr()  # no copy
    flat = resident.brought_home(Elsewhere(values[0]), place, "draws")
    assert flat.resident.shape == flat.values.shape == (1, 30, 3)
    assert resident.at_home(Elsewhere(values), place, "draws").tolist() == values.tolist()


def test_draws_with_missing_values_are_read_here(place):
    values = torch.ones(30, 2, dtype=torch.float64).cumsum(0)
    values[4, 1] = math.nan
    found = resident.brought_home(Elsewhere(values), place, "draws", missing="pairs")
    assert found.incomplete
    assert found.resident is None


def test_arrays_with_names_are_read_here(place):
    given = {"a": Elsewhere(torch.arange(4.0)), "b": np.ones(4)}
    found = resident.brought_home(given, place, "draws")
    assert found["a"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert found["b"] is given["b"]


def test_what_is_here_stays_as_it_is(place):
    array, tensor = np.zeros((3, 2)), torch.zeros(3, 2)
    for take in (resident.brought_home, resident.at_home):
        assert take(array, None, "draws") is array
        assert take(tensor, place, "draws").data_ptr() == tensor.data_ptr()
        assert not take(torch.zeros(3, 2, requires_grad=True), None, "draws").requires_grad


@pytest.mark.parametrize("whose", ["draws", "reference"])
@pytest.mark.parametrize("take", [resident.brought_home, resident.at_home])
def test_arrays_on_another_device_are_refused(take, whose):
    """Nothing is copied from one device to another without being asked for."""
    with refused("device") as caught:
        take(Elsewhere(torch.zeros(3, 2), CUDA), None, whose)
    assert whose in str(caught.value)
    assert "device='cuda'" in str(caught.value)
    with refused("device") as caught:
        take(Elsewhere(torch.zeros(3, 2)), Device(torch, torch.device("cuda", 1), "another"), whose)
    assert "cuda:1" in str(caught.value)
    assert "device='cpu'" in str(caught.value)


def test_half_precision_of_a_kind_that_numpy_has_not(place):
    values = torch.arange(8.0).reshape(4, 2).bfloat16()
    for given in (Elsewhere(values), values):
        assert np.asarray(resident.at_home(given, place, "draws")).tolist() == values.tolist()
