"""Comparisons on a device have the numbers of the processor: on the processor through PyTorch, and on a graphics processor."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import copula_discrepancy as cd  # noqa: E402
from copula_discrepancy._core.tensors import ranks  # noqa: E402
from copula_discrepancy._core.tensors.device import Device  # noqa: E402
from copula_discrepancy.estimate import block  # noqa: E402
from tests.device_cases import (  # noqa: E402
    COPULAS,
    DRAWS,
    KERNELS,
    PAIRS,
    PERFECT,
    REFERENCE,
    SCREENS,
    TABLES,
    TRIPLES,
    close,
    same_pairs,
    same_screens,
    same_stein,
    same_triples,
    score,
    table,
)
from tests.elsewhere import Elsewhere  # noqa: E402
from tests.refusals import refused  # noqa: E402

PROCESSOR = torch.device("cpu")  # the operations of a graphics processor, here
pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")  # caveats are compared
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")


def on_gpu(test):
    """A test that needs a graphics processor."""
    return pytest.mark.gpu(needs_cuda(test))


@pytest.fixture(autouse=True)
def nothing_is_read_before_it_is_written(request):
    """Memory that was not written to is NaN, instead of what happens to be there."""
    if "gpu" in request.keywords:  # where few operations are deterministic
        yield
        return
    torch.set_deterministic_debug_mode("error")
    assert torch.empty(1).isnan().all()
    yield
    torch.set_deterministic_debug_mode("default")


# ---- pairwise --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    draws, target, options = PAIRS[name]
    found = cd.pairwise(draws, target, device=PROCESSOR, **options)
    same_pairs(found, cd.pairwise(draws, target, **options))


class Unwritten:
    """NumPy, whose memory is NaN where it was not written to."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def empty(shape, dtype=float):
        return np.full(shape, np.nan, dtype) if np.dtype(dtype).kind == "f" else np.empty(shape, dtype)


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        PROCESSOR,
        pytest.param("cuda", marks=[pytest.mark.gpu, needs_cuda]),
    ],
    ids=["processor", "PyTorch", "graphics processor"],
)
def test_perfect_pairs_beside_others_without_a_target(monkeypatch, device):
    """They have no fit, whose influence values are taken off those of the others."""
    monkeypatch.setattr(block, "np", Unwritten())
    found = cd.pairwise(PERFECT, iid=True, device=device)
    perfect = np.abs(found.rows["tau"]) == 1.0
    assert np.sum(perfect) == 3
    np.testing.assert_allclose(found.rows["dependence"][perfect], 2.0, rtol=1e-3)  # of order 4: that of the polynomials
    assert np.isfinite(found.rows["dependence_se"]).all()


def test_groups_of_rows():
    samples = [table(n, n).assign(group=np.arange(n) % 2).drop(columns=["b", "town"]) for n in (240, 260)]
    found, expected = (cd.pairwise(*samples, by="group", iid=True, device=device) for device in (PROCESSOR, "cpu"))
    assert found.verdict == expected.verdict
    for group in expected.groups:
        close(found[group].rows["level"], expected[group].rows["level"])
        assert found[group].device_name != expected[group].device_name


def test_a_result_tells_where_it_was_computed():
    found = cd.pairwise(DRAWS, REFERENCE, device=PROCESSOR)
    plain = found.to_dict()
    assert plain["device"] == found.device == "cpu"
    assert plain["device_name"] == found.device_name
    assert "PyTorch" in found.device_name
    here = cd.pairwise(DRAWS, REFERENCE)
    assert (here.device, here.device_name) == ("cpu", "")
    for call in (cd.screen, cd.interactions):
        result = call(DRAWS, REFERENCE, device=PROCESSOR)
        assert result.to_dict()["device_name"] == result.device_name == found.device_name
        assert call(DRAWS, REFERENCE).device_name == ""
    result = cd.ksd(DRAWS[0], lambda x: -x, device=PROCESSOR)
    assert result.to_dict()["device_name"] == result.device_name == found.device_name
    assert result.precision == "double"


def test_what_a_result_computes_later():
    """The joint answer, and one pair in full."""
    found, expected = (cd.pairwise(DRAWS, REFERENCE, device=device) for device in (PROCESSOR, "cpu"))
    close(found.joint.pvalue, expected.joint.pvalue)
    mine, theirs = (result.pair("x0", "x1") for result in (found, expected))
    for part in ("level", "shape", "form"):
        close(getattr(mine, part).value, getattr(theirs, part).value)
        close(getattr(mine, part).se, getattr(theirs, part).se)


def test_finished_pairs_are_those_of_one_device(tmp_path, monkeypatch):
    """Numbers of two devices differ in their last digits, so that they are not mixed."""
    first = cd.pairwise(DRAWS, REFERENCE, device=PROCESSOR, checkpoint=tmp_path)
    with refused("file") as caught:
        cd.pairwise(DRAWS, REFERENCE, checkpoint=tmp_path)
    assert first.device_name in str(caught.value)
    entered = counted_turns(monkeypatch)
    second = cd.pairwise(DRAWS, REFERENCE, device=PROCESSOR, checkpoint=tmp_path)
    assert second.rows["level"].tolist() == first.rows["level"].tolist()
    assert len(entered) == 1  # ranks; no pair


# ---- the others ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCREENS)
def test_screens(name):
    draws, reference, options = SCREENS[name]
    same_screens(cd.screen(draws, reference, device=PROCESSOR, **options), cd.screen(draws, reference, **options))


@pytest.mark.parametrize("name", TRIPLES)
def test_triples(name):
    draws, reference, options = TRIPLES[name]
    same_triples(cd.interactions(draws, reference, device=PROCESSOR, **options), cd.interactions(draws, reference, **options))


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("name", TABLES)
def test_taus_are_exactly_the_same(monkeypatch, name, variant, counted):
    if counted:  # as tables of more than 32,767 rows are
        monkeypatch.setattr(ranks, "_SMALL", 10)
    found = cd.kendall_matrix(TABLES[name], variant=variant, device=PROCESSOR)
    np.testing.assert_array_equal(found, cd.kendall_matrix(TABLES[name], variant=variant))


def test_a_constant_column_is_named():
    with refused("constant") as caught:
        cd.kendall_matrix({"a": [1.0, 2.0, 3.0], "b": [2.0, 2.0, 2.0]}, device=PROCESSOR)
    with refused("constant") as expected:
        cd.kendall_matrix({"a": [1.0, 2.0, 3.0], "b": [2.0, 2.0, 2.0]})
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("name", KERNELS)
def test_stein_discrepancies(name):
    d, options = KERNELS[name]
    draws = np.random.default_rng(d).standard_normal((2, 60, d))
    same_stein(cd.ksd(draws, score, device=PROCESSOR, **options), cd.ksd(draws, score, **options))


@pytest.mark.parametrize("name", COPULAS)
def test_stein_discrepancies_from_a_copula(name):
    draws, options = cd.Gumbel(2.0).sample(150, rng=3), COPULAS[name]
    same_stein(cd.ksd(draws, cd.Gumbel(1.8), device=PROCESSOR, **options), cd.ksd(draws, cd.Gumbel(1.8), **options))


# ---- arrays on the device --------------------------------------------------------------------------------------------


def arrays_are_taken(make, device):
    """All functions take arrays of a library on a device, in double or single precision, as those of NumPy."""
    draws, reference = make(DRAWS), make(REFERENCE)
    same_pairs(cd.pairwise(draws, reference, device=device), cd.pairwise(DRAWS, REFERENCE))
    same_pairs(cd.pairwise(draws, cd.Gaussian(0.3), device=device), cd.pairwise(DRAWS, cd.Gaussian(0.3)))
    same_screens(cd.screen(draws, REFERENCE, device=device), cd.screen(DRAWS, REFERENCE))
    same_triples(cd.interactions(draws, reference, device=device), cd.interactions(DRAWS, REFERENCE))
    np.testing.assert_array_equal(cd.kendall_matrix(draws, device=device), cd.kendall_matrix(DRAWS))
    named = {name: make(DRAWS[..., k]) for k, name in enumerate("abc")}
    assert cd.pairwise(named, device=device).rows["tau"].tolist() == cd.pairwise(DRAWS).rows["tau"].tolist()
    single = DRAWS.astype(np.float32)
    np.testing.assert_array_equal(cd.kendall_matrix(make(single), device=device), cd.kendall_matrix(single))
    same_stein(cd.ksd(make(DRAWS[0, :100, :2]), cd.Gumbel(1.5), device=device), cd.ksd(DRAWS[0, :100, :2], cd.Gumbel(1.5)))


def test_arrays_that_are_on_the_device():
    arrays_are_taken(lambda array: Elsewhere(torch.tensor(array)), PROCESSOR)


def score_of_a_tensor(device, place):
    """A score function is called with the tensor that was passed, (n, d), and may return one."""
    called = []

    def slope(at):
        called.append((type(at), at.device.type, tuple(at.shape)))
        return -at

    found = cd.ksd(torch.tensor(DRAWS[:, :50], device=place), slope, device=device)
    same_stein(found, cd.ksd(DRAWS[:, :50], lambda x: -x))
    assert called == [(torch.Tensor, torch.device(place).type, (200, 3))]


@pytest.mark.parametrize("device", ["cpu", PROCESSOR], ids=str)
def test_a_score_is_called_with_a_tensor(device):
    score_of_a_tensor(device, "cpu")


# ---- memory ----------------------------------------------------------------------------------------------------------


def counted_turns(monkeypatch, fail=lambda number: False):
    """Turns on the device that are taken from now on; those for whose number, from 0, `fail` is true run out of memory."""
    entered, turn = [], Device.turn

    def counted(self):
        entered.append(len(entered))
        context = turn(self)
        if fail(entered[-1]):
            with context:  # whatever it does with such an error
                raise torch.OutOfMemoryError("no memory left")
        return context

    monkeypatch.setattr(Device, "turn", counted)
    return entered


@pytest.mark.parametrize("memory", [1.0, 1e5])  # the smallest parts that there are, and smaller ones than all
def test_parts_that_fit_into_memory_have_the_same_numbers(monkeypatch, memory):
    monkeypatch.setattr(Device, "planned_bytes", lambda self: memory)
    entered = counted_turns(monkeypatch)
    draws, reference = DRAWS[:, :25], REFERENCE[:, :25]
    same_pairs(cd.pairwise(draws, reference, device=PROCESSOR), cd.pairwise(draws, reference))
    assert (len(entered) == 1 + 3) == (memory == 1.0)  # ranks, and pairs one by one
    tied = np.round(draws, 1)
    same_pairs(cd.pairwise(tied, cd.Gumbel(1.5), device=PROCESSOR), cd.pairwise(tied, cd.Gumbel(1.5)))
    same_screens(cd.screen(tied, reference, level=True, device=PROCESSOR), cd.screen(tied, reference, level=True))
    same_triples(cd.interactions(tied, reference, device=PROCESSOR), cd.interactions(tied, reference))
    options = {"bootstrap": 9, "rng": 1}
    same_stein(cd.ksd(draws[0], score, device=PROCESSOR, **options), cd.ksd(draws[0], score, **options))
    for values in (draws, tied):
        np.testing.assert_array_equal(cd.kendall_matrix(values, device=PROCESSOR), cd.kendall_matrix(values))


@pytest.mark.parametrize("failing", [{1}, {1, 2}, {1, 3, 4}])
def test_a_part_that_runs_out_of_memory_is_divided(monkeypatch, failing):
    """The first turn ranks, the second compares all pairs."""
    expected = cd.pairwise(DRAWS, REFERENCE)
    entered = counted_turns(monkeypatch, failing.__contains__)
    same_pairs(cd.pairwise(DRAWS, REFERENCE, device=PROCESSOR), expected)
    assert len(entered) > max(failing) + 1


def test_a_pair_that_always_runs_out_of_memory_is_not_tested(monkeypatch):
    """Three pairs in turn 1, the first of them in turn 2, the others in turn 3, and the first once more at the end."""
    expected = cd.pairwise(DRAWS, REFERENCE)
    counted_turns(monkeypatch, {1, 2, 4}.__contains__)
    found = cd.pairwise(DRAWS, REFERENCE, device=PROCESSOR)
    assert "memory" in [caveat.code for caveat in found.caveats]
    lost = np.isnan(found.rows["n"])
    assert lost.tolist() == [False, False, True]
    assert (found.rows["first"][2], found.rows["second"][2]) == (0, 1)
    assert np.isnan(found.rows["tau"][2])
    tested = [(row["first"], row["second"]) != (0, 1) for row in expected.rows]
    close(found.rows["level"][:2], expected.rows["level"][tested])


@pytest.mark.parametrize(
    ("call", "first"),
    [
        (lambda: cd.pairwise(DRAWS, REFERENCE, device=PROCESSOR), 0),
        (lambda: cd.pairwise(DRAWS, REFERENCE, device=PROCESSOR), 1),
        (lambda: cd.kendall_matrix(DRAWS, device=PROCESSOR), 0),
        (lambda: cd.screen(DRAWS, REFERENCE, level=True, device=PROCESSOR), 0),
        (lambda: cd.screen(DRAWS, REFERENCE, level=True, device=PROCESSOR), 4),
        (lambda: cd.interactions(DRAWS, REFERENCE, device=PROCESSOR), 5),
        (lambda: cd.ksd(DRAWS[0], score, device=PROCESSOR), 0),
    ],
    ids=["ranks of pairs", "pairs", "matrix", "ranks of a screen", "screen", "triples", "Stein"],
)
def test_a_device_without_memory_is_one_error(monkeypatch, call, first):
    counted_turns(monkeypatch, lambda number: number >= first)
    with refused("memory") as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("failures", [1, 2])
def test_stein_discrepancies_with_less_memory_than_planned(monkeypatch, failures):
    expected = cd.ksd(DRAWS[0], score)
    counted_turns(monkeypatch, lambda number: number < failures)
    same_stein(cd.ksd(DRAWS[0], score, device=PROCESSOR), expected)


# ---- on a graphics processor -----------------------------------------------------------------------------------------


@on_gpu
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_on_a_graphics_processor(name):
    draws, target, options = PAIRS[name]
    found = cd.pairwise(draws, target, device="cuda", **options)
    same_pairs(found, cd.pairwise(draws, target, **options))
    assert found.device.startswith("cuda:")
    assert found.device_name == torch.cuda.get_device_name()
    assert found.device_name in found.sentences()["Device"]


@on_gpu
@pytest.mark.parametrize("name", SCREENS)
def test_screens_on_a_graphics_processor(name):
    draws, reference, options = SCREENS[name]
    same_screens(cd.screen(draws, reference, device="cuda", **options), cd.screen(draws, reference, **options))


@on_gpu
@pytest.mark.parametrize("name", TRIPLES)
def test_triples_on_a_graphics_processor(name):
    draws, reference, options = TRIPLES[name]
    same_triples(cd.interactions(draws, reference, device="cuda", **options), cd.interactions(draws, reference, **options))


@on_gpu
@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("name", TABLES)
def test_taus_on_a_graphics_processor(name, variant):
    found = cd.kendall_matrix(TABLES[name], variant=variant, device="cuda")
    np.testing.assert_array_equal(found, cd.kendall_matrix(TABLES[name], variant=variant))


@on_gpu
def test_taus_of_many_rows_on_a_graphics_processor():
    """So many that sums of signs are beyond single precision, and so many that they are counted by bits."""
    values = np.random.default_rng(6).standard_normal((40_000, 5))
    values[:, 1] += 3.0 * values[:, 0]
    values[:, 2] = np.round(values[:, 2], 1)
    for n in (30_000, 40_000):
        np.testing.assert_array_equal(cd.kendall_matrix(values[:n], device="cuda"), cd.kendall_matrix(values[:n]))


@on_gpu
@pytest.mark.parametrize("name", KERNELS)
def test_stein_discrepancies_on_a_graphics_processor(name):
    d, options = KERNELS[name]
    draws = np.random.default_rng(d).standard_normal((2, 60, d))
    found = cd.ksd(draws, score, device="cuda", **options)
    same_stein(found, cd.ksd(draws, score, **options))
    assert (found.precision, found.device_name) == ("double", torch.cuda.get_device_name())


@on_gpu
@pytest.mark.parametrize("name", COPULAS)
def test_stein_discrepancies_from_a_copula_on_a_graphics_processor(name):
    draws, options = cd.Gumbel(2.0).sample(150, rng=3), COPULAS[name]
    same_stein(cd.ksd(draws, cd.Gumbel(1.8), device="cuda", **options), cd.ksd(draws, cd.Gumbel(1.8), **options))


@on_gpu
def test_many_kernels_are_in_single_precision():
    """To 1e-7 of a V-statistic, and 1e-8 of the U-statistic of a wrong target, as the documentation says."""
    from copula_discrepancy._core.tensors import stein

    draws = np.random.default_rng(7).standard_normal((320_000, 2))
    for statistic, rtol in (("v", 1e-7), ("u", 1e-8)):
        found = cd.ksd(draws, lambda x: -2.0 * x, statistic=statistic, iid=True, device="cuda")
        assert found.precision == "single"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stein, "_MANY_OPERATIONS", np.inf)
            exact = cd.ksd(draws, lambda x: -2.0 * x, statistic=statistic, iid=True, device="cuda")
        assert exact.precision == "double"
        np.testing.assert_allclose(found.value, exact.value, rtol=rtol)


@on_gpu
def test_tensors_of_pytorch_on_a_graphics_processor():
    arrays_are_taken(lambda array: torch.tensor(array, device="cuda"), "cuda")
    arrays_are_taken(lambda array: torch.tensor(array, device="cuda", requires_grad=True), "auto")


@on_gpu
def test_arrays_of_cupy():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    arrays_are_taken(cupy.asarray, "cuda")


@on_gpu
def test_arrays_of_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no CUDA device here")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        arrays_are_taken(jax.numpy.asarray, "cuda")
    finally:
        jax.config.update("jax_enable_x64", before)


@on_gpu
def test_a_score_is_called_with_a_tensor_on_a_graphics_processor():
    score_of_a_tensor("cuda", "cuda")


@on_gpu
def test_auto_uses_a_graphics_processor_unless_rows_are_counted():
    for call in (cd.pairwise, cd.interactions):
        found = call(DRAWS, REFERENCE, iid=True, device="auto")
        assert found.device_name == torch.cuda.get_device_name()
        counted = call(DRAWS[0], REFERENCE[0], iid=True, engine="counted", device="auto")
        assert (counted.device, counted.device_name) == ("cpu", "")
        assert len([note for note in counted.notes if "device='auto'" in note]) == 1


@on_gpu
def test_devices_that_are_not_there():
    with refused() as caught:
        cd.kendall_matrix(DRAWS, device=f"cuda:{torch.cuda.device_count()}")
    assert "cuda:0" in str(caught.value)
    with refused("unknown-name"):
        cd.kendall_matrix(DRAWS, device="cuda:first")
    with refused("device") as caught:
        cd.pairwise(DRAWS, torch.tensor(REFERENCE, device="cuda"))
    assert "device='cuda'" in str(caught.value)
