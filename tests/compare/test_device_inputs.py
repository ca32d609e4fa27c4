"""Which device is used, which arrays are taken, and what is said where there is none; and numbers of low precision."""

import logging

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy._core.tensors import device as devices
from tests.caveat_codes import codes_of, warned
from tests.elsewhere import CUDA, Elsewhere
from tests.refusals import refused

DRAWS, REFERENCE = np.random.default_rng(1).standard_normal((2, 120, 3))

CALLS = {
    "pairwise": lambda draws, **options: cd.pairwise(draws, REFERENCE, iid=True, **options),
    "pairwise of the reference": lambda draws, **options: cd.pairwise(REFERENCE, draws, iid=True, **options),
    "screen": lambda draws, **options: cd.screen(draws, REFERENCE, iid=True, **options),
    "interactions": lambda draws, **options: cd.interactions(draws, REFERENCE, iid=True, **options),
    "kendall_matrix": lambda draws, **options: cd.kendall_matrix(draws, **options),
    "ksd": lambda draws, **options: cd.ksd(draws, lambda x: -x, **options),
}


@pytest.fixture(params=CALLS)
def call(request):
    return CALLS[request.param]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(params=["no PyTorch", "no CUDA in it", "no device"])
def without_cuda(request, monkeypatch):
    """A machine without PyTorch, with PyTorch for the processor, and without a graphics processor; what messages tell."""
    if request.param == "no PyTorch":
        monkeypatch.setattr(devices, "find_spec", lambda name: None)
        return "copula-discrepancy[gpu]"
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None if request.param == "no CUDA in it" else "12.8")
    return torch.__version__


# ---- devices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "code"),
    [("gpu", "unknown-name"), ("Cuda", "unknown-name"), (3, "argument"), (None, "argument"), ("", "unknown-name")],
)
def test_what_is_no_device(call, device, code):
    with refused(code) as caught:
        call(DRAWS, device=device)
    assert repr(device) in str(caught.value)
    assert "'cpu', 'cuda'" in str(caught.value)


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_graphics_processor_that_is_not_there(call, device, without_cuda):
    """The message says what is missing, and the ways out."""
    with refused("dependency") as caught:
        call(DRAWS, device=device)
    for part in (repr(device), without_cuda, "device='cpu'", "device='auto'"):
        assert part in str(caught.value)


def test_a_device_of_pytorch_that_is_not_there(call, torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with refused("dependency") as caught:
        call(DRAWS, device=torch.device("cuda", 0))
    assert "device='cpu'" in str(caught.value)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "kendall_matrix"])
def test_auto_without_a_graphics_processor_is_the_processor(name, without_cuda, caplog):
    with caplog.at_level(logging.INFO, logger="copula_discrepancy"):
        found = CALLS[name](DRAWS, device="auto")
    notes = [note for note in found.notes if "device='auto'" in note]
    assert len(notes) == 1
    assert without_cuda in notes[0]
    assert any(without_cuda in record.message for record in caplog.records)
    assert (found.device, found.device_name) == ("cpu", "")
    assert list(found.to_dict()["notes"]) == list(found.notes)
    here = CALLS[name](DRAWS)
    assert [note for note in found.notes if note not in notes] == list(here.notes)
    assert repr(here).splitlines()[0] == repr(found).splitlines()[0]


def test_auto_of_a_matrix_warns(without_cuda):
    """A matrix has no notes."""
    with pytest.warns(cd.DependenceWarning, match="device='auto'") as caught:
        found = cd.kendall_matrix(DRAWS, device="auto")
    assert without_cuda in str(caught[0].message)
    np.testing.assert_array_equal(found, cd.kendall_matrix(DRAWS))


def test_rows_that_are_counted_are_not_on_a_device(torch):
    processor = torch.device("cpu")
    with refused() as caught:
        cd.pairwise(DRAWS, REFERENCE, iid=True, engine="counted", device=processor)
    assert "engine='exact'" in str(caught.value)
    with refused():
        cd.interactions(DRAWS, REFERENCE, iid=True, engine="counted", device=processor)
    with refused():
        cd.pairwise(cd.DependenceSketch.of(DRAWS, iid=True), REFERENCE, iid=True, device=processor)
    assert cd.pairwise(DRAWS, REFERENCE, iid=True, engine="exact", device=processor).device_name != ""


@pytest.mark.parametrize("engine", ["counted", "other"])
@pytest.mark.parametrize("compare", [cd.pairwise, cd.interactions])
def test_the_engine_for_arrays_on_a_device(torch, compare, engine):
    """They are not counted either, and a wrong name is one."""
    with refused():
        compare(Elsewhere(torch.tensor(DRAWS)), REFERENCE, iid=True, engine=engine, device=torch.device("cpu"))


def test_many_rows_are_ranked_on_a_device(torch, monkeypatch):
    """On the processor they would be counted."""
    from copula_discrepancy.compare import engine

    monkeypatch.setattr(engine, "MANY_ROWS", 100)
    with_counts = cd.pairwise(DRAWS, REFERENCE, iid=True)
    ranked = cd.pairwise(DRAWS, REFERENCE, iid=True, device=torch.device("cpu"))
    assert any("counted" in note for note in with_counts.notes)
    assert not any("counted" in note for note in ranked.notes)


# ---- arrays on a device ----------------------------------------------------------------------------------------------


def test_an_array_on_a_device_is_not_copied_without_being_asked(call, torch):
    with refused("device") as caught:
        call(Elsewhere(torch.tensor(DRAWS), CUDA))
    assert "device='cuda'" in str(caught.value)
    if call is not CALLS["ksd"]:
        with refused("device"):
            call({name: Elsewhere(torch.tensor(column), CUDA) for name, column in zip("abc", DRAWS.T, strict=True)})


def test_the_sample_that_is_elsewhere_is_named(torch):
    given = Elsewhere(torch.tensor(DRAWS), CUDA)
    for samples, whose in (((given, REFERENCE), "draws"), ((REFERENCE, given), "reference")):
        for compare in (cd.pairwise, cd.screen, cd.interactions):
            with refused("device") as caught:
                compare(*samples)
            assert f"the {whose} " in str(caught.value)


def test_tensors_of_the_processor_are_arrays(call, torch):
    """Also those that gradients are computed of, with or without a device."""
    for device in ("cpu", torch.device("cpu")):
        expected = call(DRAWS, device=device)
        for tensor in (torch.tensor(DRAWS), torch.tensor(DRAWS, requires_grad=True)):
            found = call(tensor, device=device)
            if isinstance(found, np.ndarray):
                np.testing.assert_array_equal(found, expected)
            else:
                assert repr(found) == repr(expected)


@pytest.mark.parametrize("kind", ["gradients", "half precision"])
def test_tensors_of_the_processor_with_names(torch, kind):
    """The same as without names."""
    whole = torch.tensor(tied(np.float32))
    whole = whole.requires_grad_() if kind == "gradients" else whole.bfloat16()
    with pytest.warns(cd.DependenceWarning):  # of ties
        found = cd.kendall_matrix({name: whole[:, k] for k, name in enumerate("abc")})
    np.testing.assert_array_equal(found, cd.kendall_matrix(tied(np.float64)))


def test_bad_values_on_a_device_are_located(torch):
    draws, reference = DRAWS.copy(), REFERENCE.copy()
    draws[7, 1] = np.nan
    for given in (draws, Elsewhere(torch.tensor(draws))):
        with refused("nan") as caught:
            cd.kendall_matrix(given, device=torch.device("cpu"))
        assert "7" in str(caught.value)
    reference[3, 2] = np.inf
    with refused("infinite") as caught:
        cd.pairwise(DRAWS, Elsewhere(torch.tensor(reference)), device=torch.device("cpu"))
    assert "reference" in str(caught.value)


# ---- precision -------------------------------------------------------------------------------------------------------


def tied(dtype):
    """Numbers that are exact in every precision; some of them are equal."""
    return (np.round(32.0 * DRAWS) / 32.0).astype(dtype)


def places(torch):
    return "cpu", torch.device("cpu")


def halves(torch):
    """Tables in half precision, and where they are compared: those that NumPy has no type for come from a device."""
    half = torch.tensor(tied(np.float16))
    brain = torch.tensor(tied(np.float32)).bfloat16()
    assert torch.equal(half.double(), brain.double())
    return [(tied(np.float16), "cpu"), (half, "cpu"), (half, torch.device("cpu")), (Elsewhere(brain), torch.device("cpu"))]


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("kendall_matrix", "ksd")])
def test_half_precision_is_a_caveat(name, torch):
    whose = "reference" if "reference" in name else "draws"
    for values, device in halves(torch):
        with warned("rounded-values"):
            found = CALLS[name](values, device=device)
        (caveat,) = [caveat for caveat in found.caveats if "half precision" in caveat.sentence]
        assert caveat.code == "rounded-values"
        assert f"the {whose} " in caveat.sentence


def test_half_precision_of_a_matrix_and_of_a_pair(torch):
    expected, pair = cd.kendall_matrix(tied(np.float64)), cd.ksd(tied(np.float64)[:, :2], cd.Gaussian(0.1))
    for values, device in halves(torch):
        with warned("rounded-values"):
            np.testing.assert_array_equal(cd.kendall_matrix(values, device=device), expected)
        both = Elsewhere(values.tensor[:, :2]) if isinstance(values, Elsewhere) else values[:, :2]
        with warned("rounded-values"):
            result = cd.ksd(both, cd.Gaussian(0.1), device=device)
        assert codes_of(result) == ["rounded-values"]
        assert result.value == pytest.approx(pair.value, rel=1e-10)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "ksd"])  # a score function has no ranks
def test_half_precision_of_a_tensor_that_numpy_has_no_type_for(name, torch):
    """On the processor, too."""
    with warned("rounded-values"):
        CALLS[name](torch.tensor(tied(np.float32)).bfloat16())


def test_half_precision_of_one_column_is_enough():
    table = pd.DataFrame(tied(np.float64), columns=list("abc"))
    table["b"] = table["b"].astype(np.float16)
    for given in (table, {name: table[name].to_numpy() for name in table}):
        with warned("rounded-values"):
            cd.screen(given, pd.DataFrame(REFERENCE, columns=list("abc")), iid=True)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("kendall_matrix", "ksd")])
def test_single_precision_with_ties_is_a_note(name, torch):
    for device in places(torch):
        for values in (tied(np.float32), torch.tensor(tied(np.float32))):
            found = CALLS[name](values, device=device)
            assert len([note for note in found.notes if "float32" in note]) == 1
            assert "rounded-values" not in codes_of(found)


def test_single_precision_with_ties_of_a_matrix_and_of_a_pair(torch):
    for device in places(torch):
        with pytest.warns(cd.DependenceWarning, match="float32"):
            cd.kendall_matrix(tied(np.float32), device=device)
        result = cd.ksd(tied(np.float32)[:, :2], cd.Gaussian(0.1), device=device)
        assert len([note for note in result.notes if "float32" in note]) == 1


# ties in double precision, none in single precision, and whole numbers
@pytest.mark.parametrize("values", [tied(np.float64), DRAWS.astype(np.float32), np.round(32.0 * DRAWS).astype(int)])
def test_nothing_is_said_of_double_precision_nor_without_ties(call, torch, values):
    """Warnings are errors."""
    for device in places(torch):
        found = call(values, device=device)
        if not isinstance(found, np.ndarray):
            assert not any("precision" in text or "float32" in text for text in (*found.notes, *found.warnings))


def test_how_many_values_are_tied():
    """Of a hundred values two are equal, which is told of the variable with most ties."""
    values = np.random.default_rng(2).standard_normal((100, 2))
    values[17, 1] = values[3, 1]
    single = values.astype(np.float32)
    assert len(np.unique(single[:, 0])) == 100
    result = cd.pairwise(single, values[::-1] + 1.0, iid=True)
    (note,) = [note for note in result.notes if "float32" in note]
    assert "2% of the values of x1" in note
