"""Samplers that run in this process and iterators of blocks, followed draw by draw."""

import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import copula_discrepancy as cd
from copula_discrepancy.data.following.opening import follow
from tests.data.refusals import refusal

RNG = np.random.default_rng(1)
MU = RNG.normal(size=(3, 40))
THETA = RNG.normal(size=(3, 40, 2))
COUNT = RNG.integers(0, 2, size=(3, 40))
DIVERGING = RNG.random((3, 40)) < 0.3
NAMES = ("mu", "theta[0]", "theta[1]", "count")
ROWS = np.concatenate([MU[..., None], THETA, COUNT[..., None]], axis=2)


class Settings:
    num_draws = 40


class Sampler:
    """What nutpie's sampler tells: a copy of the chains that were begun, padded with NaN and 0 to the longest one."""

    _settings = Settings()

    def __init__(self, container="tree"):
        self.lengths = ()
        self.container = container
        self.finished = False
        self.error = None
        self.copies = 0

    @property
    def is_finished(self):
        if not self.finished:
            raise TimeoutError("Timeout while waiting for sampler to finish")
        return True

    def inspect(self):
        if self.error is not None:
            raise self.error
        self.copies += 1
        longest = max(self.lengths, default=0)
        padded = {}
        for name, values in (("mu", MU), ("theta", THETA), ("count", COUNT), ("logp", MU), ("diverging", DIVERGING)):
            missing = np.nan if values.dtype.kind == "f" else 0
            padded[name] = np.full((len(self.lengths), longest, *values.shape[2:]), missing, values.dtype)
            for chain, length in enumerate(self.lengths):
                padded[name][chain, :length] = values[chain, :length]
        dims = {name: ("chain", "draw", "d")[: values.ndim] for name, values in padded.items()}
        posterior = xr.Dataset({name: (dims[name], padded[name]) for name in ("mu", "theta", "count")})
        stats = xr.Dataset({name: (dims[name], padded[name]) for name in ("logp", "diverging")})
        if self.container == "store":
            for array in posterior.data_vars.values():
                array.encoding["chunks"] = (1, 16)  # as xarray tells of a store, which nutpie goes on writing
        if self.container != "InferenceData":
            return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats, "warmup_posterior": posterior})
        return InferenceData(posterior=posterior, sample_stats=stats)

    def abort(self):
        raise AssertionError("a follower stops nothing")


class InferenceData:
    def __init__(self, **groups):
        self._groups = groups
        self.__dict__.update(groups)

    def groups(self):
        return [*self._groups]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr("copula_discrepancy.data.following.sampler._MOST_TIME", 1e9)


def expected(progress):
    for chain, rows in enumerate(progress.chains):
        np.testing.assert_array_equal(rows, ROWS[chain, : len(rows)])
        np.testing.assert_array_equal(progress.divergent[chain], DIVERGING[chain, : len(rows)])


@pytest.mark.parametrize("container", ["tree", "InferenceData"])
def test_a_sampler_is_followed_to_its_end(container):
    sampler = Sampler(container)
    follower = follow(sampler)
    progress = follower.poll()
    assert (progress.chains, progress.new, progress.finished) == ((), 0, None)
    assert progress.waiting_for
    refusal("too-few-draws", follower.whole)
    sampler.lengths = (9, 0)
    progress = follower.poll()
    assert (progress.names, progress.lengths, progress.new, progress.expected) == (NAMES, (9, 0), 9, 40)
    assert (progress.finished, progress.waiting_for) == (False, "")
    expected(progress)
    sampler.lengths = (40, 13, 2)  # a chain more
    progress = follower.poll()
    assert (progress.lengths, progress.new, progress.generation) == ((40, 13, 2), 46, 0)
    expected(progress)
    assert progress.notes
    assert follower.whole().values.shape == (3, 2, 4)
    sampler.lengths, sampler.finished = (40, 40, 40), True
    progress = follower.poll()
    assert (progress.new, progress.finished, progress.notes) == (65, True, ())
    expected(progress)
    np.testing.assert_array_equal(follower.whole().values, ROWS)
    copies, sampler.error = sampler.copies, AssertionError("its results are gone")
    progress = follower.poll()
    assert (progress.new, progress.finished, progress.lengths, sampler.copies) == (0, True, (40, 40, 40), copies)


def test_a_sampler_that_ends_without_draws_has_ended():
    sampler = Sampler()
    sampler.finished = True
    for lengths in ((), (0, 0, 0)):
        sampler.lengths = lengths
        progress = follow(sampler).poll()
        assert progress.finished
        assert progress.waiting_for == "the sampler ended without draws"
    sampler.lengths = (40, 40, 40)
    assert "posterior" in refusal("unknown-name", follow(sampler, group="posteriro").poll)
    sampler.finished = False
    assert "no group posteriro yet" in follow(sampler, group="posteriro").poll().waiting_for


def test_chains_that_a_sampler_will_begin_are_counted():
    sampler = Sampler()
    sampler.lengths = (9, 4)
    assert follow(sampler).poll().missing_chains == 0
    assert follow(sampler, chains=4).poll().missing_chains == 2
    sampler._settings = SimpleNamespace(as_dict=lambda: {"settings": {"num_draws": 40, "num_chains": 3}})  # of nutpie 0.16
    progress = follow(sampler).poll()
    assert (progress.missing_chains, progress.expected) == (1, 40)


def test_a_sampler_whose_results_were_taken():
    sampler = Sampler()
    follower = follow(sampler)
    sampler.lengths = (9, 4)
    follower.poll()
    sampler.error = AttributeError("'NoneType' object has no attribute 'is_zarr'")  # of nutpie after wait()
    progress = follower.poll()
    assert (progress.lengths, progress.new, progress.finished) == ((9, 4), 0, False)
    assert "is_zarr" in progress.waiting_for
    sampler.error = TimeoutError()
    assert follower.poll().waiting_for
    sampler.error = None
    sampler.lengths = (12, 4)
    assert follower.poll().new == 3
    sampler.error, sampler.finished = RuntimeError("gone"), True
    progress = follower.poll()
    assert (progress.lengths, progress.finished, progress.waiting_for) == ((12, 4), True, "")


def test_draws_of_a_sampler_that_writes_a_store_settle_first(monkeypatch):
    monkeypatch.setattr("copula_discrepancy.data.following.labelled_rows._SETTLED", 0.2)
    sampler = Sampler("store")
    sampler.lengths, sampler.finished = (9, 4), True
    follower = follow(sampler)
    progress = follower.poll()
    assert (progress.lengths, progress.finished) == ((0, 0), False)
    time.sleep(0.25)
    progress = follower.poll()
    assert (progress.lengths, progress.finished) == ((9, 4), True)


def test_a_sampler_that_begins_anew():
    sampler = Sampler()
    sampler.lengths = (9, 4)
    follower = follow(sampler)
    before = follower.poll()
    kept = MU[0, 0]
    MU[0, 0] = 7.0
    try:
        sampler.lengths = (12, 4)
        progress = follower.poll()
        assert (progress.generation, progress.new) == (1, 16)
        assert progress.chains[0][0, 0] == 7.0
        assert before.chains[0][0, 0] == kept
    finally:
        MU[0, 0] = kept


def test_copies_are_made_seldom(monkeypatch):
    monkeypatch.setattr("copula_discrepancy.data.following.sampler._MOST_TIME", 1e-9)
    sampler = Sampler()
    sampler.lengths = (9,)
    follower = follow(sampler)
    for _ in range(5):
        progress = follower.poll()
    assert sampler.copies == 2  # the first is not counted: it imports what it needs
    assert (progress.lengths, progress.new) == ((9,), 0)
    sampler.lengths, sampler.finished = (40,), True
    progress = follower.poll()  # the end is not waited for
    assert (progress.new, progress.finished) == (31, True)


def test_selection_and_groups_of_a_sampler():
    sampler = Sampler()
    sampler.lengths = (9, 4)
    assert follow(sampler, var_names="theta").poll().names == NAMES[1:3]
    progress = follow(sampler, var_names="count").poll()
    assert progress.lengths == (9, 4)  # by the statistics of the sampler
    np.testing.assert_array_equal(progress.chains[1][:, 0], COUNT[1, :4])
    warmup = follow(sampler, group="warmup_posterior").poll()
    assert (warmup.lengths, warmup.divergent) == ((9, 4), None)
    assert "nothing" in follow(sampler, group="nothing").poll().waiting_for
    refusal("unknown-name", follow(sampler, var_names="nothing").poll)
    refusal("shape", follow(sampler, chains=1).poll)
    assert follow(sampler, chains=3).poll().lengths == (9, 4)


def test_a_sampler_that_produces_nan():
    sampler = Sampler()
    sampler.lengths = (9,)
    follower = follow(sampler)
    follower.poll()
    kept, MU[0, 12] = MU[0, 12], np.nan
    try:
        sampler.lengths = (20,)
        assert "draw 12" in refusal("nan", follower.poll)
    finally:
        MU[0, 12] = kept


@pytest.mark.parametrize("container", ["tree", "InferenceData"])
@pytest.mark.parametrize(("begin", "lengths"), [(30, (40, 40)), (0, (40, 40)), (30, (40, 35))])
def test_a_chain_that_ends_with_nan_is_no_shorter_chain(container, begin, lengths, monkeypatch):
    """The other variables tell that its draws are there; an aborted chain lacks all of them."""
    mu = MU.copy()
    mu[1, begin:] = np.nan
    monkeypatch.setitem(globals(), "MU", mu)
    sampler = Sampler(container)
    sampler.lengths, sampler.finished = lengths, True
    error = refusal("nan", follow(sampler).poll)
    assert "chain 1" in error
    assert f"draw {begin}" in error
    assert "exclude" in error
    assert follow(sampler, exclude="mu").poll().lengths == lengths


def test_a_variable_that_is_nan_from_the_start_is_told_while_the_sampler_runs(monkeypatch):
    monkeypatch.setitem(globals(), "MU", np.full_like(MU, np.nan))
    sampler = Sampler()
    sampler.lengths = (5, 3)
    assert follow(sampler).poll().lengths == (0, 0)  # a few draws may be on their way
    sampler.lengths = (40, 35)
    assert "mu" in refusal("nan", follow(sampler).poll)


def test_a_sampler_that_fails_gives_the_draws_before_and_its_message():
    class Failing(Sampler):
        failure = None

        @property
        def is_finished(self):
            if self.failure is None:
                return super().is_finished
            error, self.failure, self.finished = self.failure, None, True
            raise error  # once, as nutpie does

    sampler = Failing()
    assert follow(sampler).poll().exists  # a sampler that warms up
    sampler.lengths = (9, 4)
    follower = follow(sampler)
    follower.poll()
    sampler.failure = RuntimeError("All initialization points failed\nmore")
    progress = follower.poll()
    assert (progress.lengths, progress.finished, progress.new) == ((9, 4), True, 0)
    assert progress.failed == "All initialization points failed"
    assert follower.poll().failed == progress.failed
    assert follower.whole().values.shape == (2, 4, 4)


def test_divergences_of_a_sampler_are_those_of_its_draws():
    """By the labels of chains and draws, and not at all if some are missing."""
    sampler = Sampler()
    sampler.lengths, sampler.finished = (40, 40), True
    plain = sampler.inspect
    labels = {"chain": [0, 1], "draw": np.arange(40)}

    def swapped():
        copy = plain()
        stats = copy["sample_stats"].to_dataset().assign_coords(labels).isel(chain=[1, 0])
        return xr.DataTree.from_dict({"posterior": copy["posterior"].to_dataset().assign_coords(labels), "sample_stats": stats})

    sampler.inspect = swapped
    progress = follow(sampler).poll()
    expected(progress)

    def holes():
        copy = plain()
        stats = copy["sample_stats"].to_dataset()
        stats["diverging"] = stats["diverging"].astype(float).where(stats["logp"] < 0.0)
        return xr.DataTree.from_dict({"posterior": copy["posterior"].to_dataset(), "sample_stats": stats})

    sampler.inspect = holes
    progress = follow(sampler).poll()
    assert progress.divergent is None
    assert "diverging has missing values" in progress.notes[0]


# iterators


def blocks(make, cuts=(0, 5, 6, 40)):
    for begin, end in pairwise(cuts):
        yield make(begin, end)


FORMS = {
    "dictionary": lambda a, b: {"mu": MU[:, a:b], "theta": THETA[:, a:b], "count": COUNT[:, a:b]},
    "array": lambda a, b: ROWS[:, a:b],
    "list": lambda a, b: [*ROWS[:, a:b]],
    "tree": lambda a, b: xr.DataTree.from_dict({"posterior": FORMS["dataset"](a, b)}),
    "dataset": lambda a, b: xr.Dataset({
        "mu": (("chain", "draw"), MU[:, a:b]), "theta": (("chain", "draw", "d"), THETA[:, a:b]),
        "count": (("chain", "draw"), COUNT[:, a:b]),
    }),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_blocks_are_further_draws_of_the_same_chains(form):
    follower = follow(blocks(FORMS[form]))
    first = follower.poll()
    assert (first.lengths, first.new, first.finished, first.expected) == ((5, 5, 5), 15, False, None)
    assert first.names == (("x0", "x1", "x2", "x3") if form in ("array", "list") else NAMES)
    assert first.named == (form not in ("array", "list"))
    assert follower.poll().lengths == (6, 6, 6)  # a block of one draw
    progress = follower.poll()
    assert (progress.lengths, progress.new, progress.finished) == ((40, 40, 40), 102, False)
    np.testing.assert_array_equal(progress.chains, ROWS)
    np.testing.assert_array_equal(first.chains, ROWS[:, :5])
    for _ in range(2):
        progress = follower.poll()
        assert (progress.lengths, progress.new, progress.finished) == ((40, 40, 40), 0, True)
    np.testing.assert_array_equal(follower.whole().values, ROWS)
    assert follower.whole().named == first.named


def test_blocks_of_one_chain():
    frame = pd.DataFrame(ROWS[0], columns=NAMES)
    follower = follow(iter([frame[:10], frame[10:][[*NAMES[::-1]]]]))
    follower.poll()
    progress = follower.poll()
    assert progress.lengths == (40,)
    np.testing.assert_array_equal(progress.chains[0], ROWS[0])
    flat = follow(iter([ROWS[0, :4], ROWS[0, 4:7]]), var_names=["x1", "x0"])
    flat.poll()
    np.testing.assert_array_equal(flat.poll().chains[0], ROWS[0, :7][:, [1, 0]])


WRONG = [
    ([ROWS[:, :5], ROWS[:2, 5:9]], "shape"),
    ([ROWS[:, :5], ROWS[:, 5:9, :3]], "names-differ"),
    ([{"a": MU[:, :5]}, {"b": MU[:, 5:9]}], "names-differ"),
    ([ROWS[:, :5], np.full((3, 2, 4), np.nan)], "nan"),
    ([ROWS[:, :5], "word"], "file"),
    ([ROWS[:, :5], np.array([["a"]])], "not-numeric"),
    ([ROWS[:, :5], np.array([[[2**60 + k] * 4] * 2 for k in range(3)])], "argument"),
    ([], "too-few-draws"),
]


@pytest.mark.parametrize(("items", "code"), WRONG)
def test_blocks_that_do_not_go_on(items, code):
    follower = follow(iter(items))
    if items:
        follower.poll()
    message = refusal(code, follower.poll)
    assert not items or "block 1" in message
    assert refusal(code, follower.poll) == message  # draws after a gap are not those of the chain


def test_an_error_inside_a_generator():
    def broken():
        yield ROWS[:, :5]
        raise ZeroDivisionError("in the model")

    follower = follow(broken())
    follower.poll()
    for _ in range(2):  # the draws before are not lost
        progress = follower.poll()
        assert progress.finished
        assert progress.new == 0
        assert "ZeroDivisionError: in the model" in progress.failed
    np.testing.assert_array_equal(follower.whole().values, ROWS[:, :5])


def test_an_error_before_the_first_draws():
    def broken():
        raise ZeroDivisionError("in the model")
        yield

    assert "in the model" in refusal("argument", follow(broken()).poll)


@pytest.mark.parametrize("overlap", [2, 5, 25])
def test_blocks_that_overlap_are_refused(overlap):
    """Each begins with the last draws of the one before, which would count twice."""
    follower = follow(iter([ROWS[:, :30], ROWS[:, 30 - overlap : 40]]))
    follower.poll()
    assert "draws of block 0" in refusal("repeated", follower.poll)


def test_whole_numbers_may_come_again():
    """Three draws of a coin are not those of an earlier block."""
    coins = np.random.default_rng(1).integers(0, 2, (1, 400, 2))
    follower = follow(coins[:, k : k + 4] for k in range(0, 400, 4))
    lengths = [follower.poll().lengths for _ in range(40)]
    assert lengths[-1] == (160,)


@pytest.mark.parametrize("grid", [0.5, 1.0])
def test_variables_of_few_values_may_come_again(grid):
    """Two draws of these are equal to two others soon; twenty are not."""
    rows = grid * np.random.default_rng(2).integers(-2, 3, size=(1, 1200, 2))
    follower = follow(iter([rows[:, k : k + 20] for k in range(0, 1200, 20)]))
    assert [follower.poll().lengths[0] for _ in range(60)][-1] == 1200
    again = follow(iter([rows[:, :400], rows[:, 400:800], rows[:, 400:800]]))
    again.poll(), again.poll()
    refusal("repeated", again.poll)


def test_what_is_no_iterator():
    with open(__file__) as file:
        refusal("argument", follow, file)
    refusal("argument", follow, ROWS)
    refusal("argument", follow, [ROWS])
    assert isinstance(cd.as_draws(ROWS), cd.Draws)


def test_blocks_have_divergences():
    def with_statistics(begin, end):
        stats = xr.Dataset({"diverging": (("chain", "draw"), DIVERGING[:, begin:end])})
        return xr.DataTree.from_dict({"posterior": FORMS["dataset"](begin, end), "sample_stats": stats})

    follower = follow(blocks(with_statistics))
    for _ in range(4):
        expected(progress := follower.poll())
    assert progress.finished
    np.testing.assert_array_equal(follower.whole().diverging, DIVERGING)
    # blocks without statistics among others: which draws diverged is not known
    forms = iter([FORMS["tree"](0, 5), with_statistics(5, 40)])
    follower = follow(forms)
    follower.poll()
    assert follower.poll().divergent is None


@pytest.mark.parametrize("repeated", [[(0, 10), (0, 20)], [(0, 10), (10, 20), (10, 20)], [(0, 3), (3, 6), (0, 3)]])
def test_blocks_that_begin_again_are_refused(repeated):
    """All draws so far instead of the new ones, or a sampler that was not told to go on."""
    follower = follow(FORMS["array"](begin, end) for begin, end in repeated)
    for _ in repeated[:-1]:
        follower.poll()
    assert "only the draws that are new" in refusal("repeated", follower.poll)


def test_chains_that_stand_still_are_no_repeated_blocks():
    still = np.repeat(ROWS[:, :1], 30, axis=1)
    follower = follow(iter([still, still, ROWS[:, :1], ROWS[:, :1]]))
    for _ in range(4):
        progress = follower.poll()
    assert progress.lengths == (62,) * 3


def test_chains_that_stand_still_cost_no_more_the_longer_they_do():
    still = np.full((2, 300_000, 3), 1.5)
    follower = follow(iter([still, *[still[:, :100]] * 20]))
    follower.poll()
    begin = time.process_time()
    for _ in range(20):
        progress = follower.poll()
    assert time.process_time() - begin < 4.0  # 40 s with a loop over all draws before, and 0.1 s without
    assert progress.lengths == (302_000,) * 2


@pytest.mark.parametrize("stood", [3, 400])
def test_a_block_that_begins_again_is_refused_after_chains_stood_still(stood):
    """Which have the value that the block begins with at every draw."""
    rows = np.concatenate([np.repeat(ROWS[:, :1], stood, axis=1), ROWS], axis=1)
    first = rows[:, : stood + 10]
    follower = follow(iter([first, rows[:, stood + 10 :], first[:, -12:]]))
    follower.poll(), follower.poll()
    assert "begins with draws of block 0" in refusal("repeated", follower.poll)


class PanicException(BaseException):
    """What Rust's code raises in Python when it breaks down; no Exception."""


@pytest.mark.parametrize("where", ["is_finished", "inspect"])
def test_a_sampler_that_panics_has_failed(where, monkeypatch):
    def panic(*_):
        raise PanicException("called `Option::unwrap()` on a `None` value")

    sampler = Sampler()
    follower = follow(sampler)
    sampler.lengths = (9, 9)
    follower.poll()
    monkeypatch.setattr(Sampler, where, property(panic) if where == "is_finished" else panic)
    progress = follower.poll()
    assert (progress.finished, progress.lengths) == (True, (9, 9))
    assert progress.failed == "it panicked: called `Option::unwrap()` on a `None` value"
    assert follower.whole().n_draws == 9


def test_an_interrupt_is_no_panic(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    follower = follow(Sampler())
    monkeypatch.setattr(Sampler, "inspect", interrupted)
    with pytest.raises(KeyboardInterrupt):
        follower.poll()


def test_blocks_without_draws_are_passed_over():
    """As of a sampler that keeps every tenth draw, in short blocks."""
    rng = np.random.default_rng(1)
    blocks = [rng.normal(size=(2, n, 2)) for n in (0, 30, 0, 30)]
    follower = follow(iter(blocks))
    assert [follower.poll().lengths for _ in range(5)] == [(n, n) for n in (0, 30, 30, 60, 60)]
    np.testing.assert_array_equal(follower.whole().values, np.concatenate(blocks, axis=1))


def test_chains_of_blocks_have_the_labels_of_the_first_block():
    frame = pd.DataFrame({"chain": [3] * 5 + [7] * 5, "draw": [*range(5)] * 2, "a": np.arange(10.0), "b": np.arange(10.0) ** 2})
    assert follow(iter([frame])).poll().labels == cd.as_draws(frame).chain_names


def test_chains_of_a_sampler_have_the_labels_of_its_draws(monkeypatch):
    sampler, inspect = Sampler(), Sampler.inspect
    sampler.lengths = (9, 9)
    assert follow(sampler).poll().labels == ("chain 0", "chain 1")

    def labelled(self):
        groups = inspect(self).to_dict()
        return xr.DataTree.from_dict(
            {path: data.assign_coords(chain=[3, 7]) for path, data in groups.items() if data.data_vars}
        )

    monkeypatch.setattr(Sampler, "inspect", labelled)
    assert follow(sampler).poll().labels == ("chain 3", "chain 7")
