"""Random arrays of every shape, type, memory layout and container, valid or invalid in one way."""

import array
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import xarray as xr

import copula_discrepancy as cd


class Fuzz:
    """The random generator of one input, and the size that its arguments share."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = np.random.default_rng([seed, number])
        self.n = int(self.one(self.between(2, 12), self.between(8, 40), self.between(20, 80), self.between(20, 60)))
        self.width = self.between(2, 4)

    def between(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def one(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def number(self) -> float:
        """A float of any size; special values are frequent."""
        return float(self.one(*NUMBERS)) if self.chance(0.4) else float(self.rng.normal() * 10.0 ** self.rng.integers(-6, 7))


NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 5e-324, -5e-324, 1e300, 1.7976931348623157e308, -1e308, np.nan, np.inf, -np.inf,
    1 - 2**-53, 1 + 2**-52, 1e16, 2.0**53 + 2, 1e-16, 100.0, 1e6,
)  # fmt: skip


class Refusing:
    """An object that cannot become an array."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error


class Answering:
    """An object that converts to an array."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def anything(f: Fuzz) -> Any:
    """A value of any type."""
    itself: list[Any] = []
    itself.append(itself)
    return f.one(
        None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, -(2**63) - 1, 10**400, f.number(), f.number(), np.nan, np.inf, 1j,
        "", " ", "mle", "MLE", "x0", "x\0y", "naïve", "\ud800", "auto", "nan", "1", b"bytes", b"", [], [1], [[]], (), (1, 2),
        {}, {"a": 1}, {"x0", "x1"}, np.array([1, 2]), np.array(3), np.array("b"), np.array([]), np.float32(0.5), np.int64(3),
        np.bool_(True), np.str_("b"), np.datetime64("2020-01-01"), np.timedelta64(3, "s"), np.ma.masked, pd.NA, pd.NaT,
        pd.Timestamp("2020-01-01"), fractions.Fraction(1, 2), decimal.Decimal("0.5"), decimal.Decimal("sNaN"), object(),
        int, len, range(3), ..., NotImplemented, slice(3), itself, (k for k in range(3)), np.random.default_rng(1),
        pd.Series([1.0, 2.0]), Refusing(KeyError("no")), Answering(np.ones(2)), cd.Gumbel, cd.Gumbel(2.0), np.float16("nan"),
        memoryview(b"ab"), frozenset([1]), iter([1, 2]), np.void(b"ab"), complex(0.5, 0), bytearray(b"1"),
        lambda *given, **named: 0.5,
    )  # fmt: skip


# ---- arrays ------------------------------------------------------------------------------------------------------------


def values(f: Fuzz, n: int, d: int) -> np.ndarray:
    """Finite draws (n, d) of a kind that samplers and users produce."""
    z = f.rng.standard_normal((n, d))
    common = f.rng.standard_normal((n, 1))
    weight = f.one(0.0, 0.5, 0.9, -0.9, 0.999, 1.0)
    x = weight * common * f.rng.choice([1.0, 1.0, -1.0], d) + np.sqrt(1.0 - weight**2) * z
    shape = f.one(*_SHAPES) if f.chance(0.6) else None
    return x if shape is None else np.asarray(shape(f, x), dtype=np.float64)


def _walk(f: Fuzz, x: np.ndarray) -> np.ndarray:
    return np.cumsum(x, axis=0)


def _stuck(f: Fuzz, x: np.ndarray) -> np.ndarray:
    begin = f.between(0, max(len(x) - 2, 0))
    x[begin:, f.between(0, x.shape[1] - 1)] = x[begin, 0]
    return x


def _some_copied(f: Fuzz, x: np.ndarray) -> np.ndarray:
    x[:, -1] = f.one(x[:, 0], -x[:, 0], x[:, 0] ** 3, np.exp(x[:, 0]), -np.exp(x[:, 0]))
    return x


def _mixed_zeros(f: Fuzz, x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 0.7, f.rng.choice([0.0, -0.0], x.shape), x)


_SHAPES: tuple[Callable[[Fuzz, np.ndarray], np.ndarray], ...] = (
    lambda f, x: np.round(x),
    lambda f, x: np.round(x, 1),
    lambda f, x: (x > 0).astype(float),
    lambda f, x: (x > np.quantile(x, 0.9)).astype(float),
    lambda f, x: np.sort(x, axis=0),
    lambda f, x: np.sort(x, axis=0)[::-1],
    lambda f, x: x * np.resize([1.0, -1.0], (len(x), 1)),
    lambda f, x: np.repeat(x, 5, axis=0)[: len(x)],
    lambda f, x: np.resize(x[: max(len(x) // 3, 1)], x.shape),
    lambda f, x: 1e8 + 1e-6 * x,
    lambda f, x: 1e15 + x,
    lambda f, x: x * 1e307,
    lambda f, x: x * 5e-324,
    lambda f, x: x * 1e-310,
    lambda f, x: np.sign(x) * np.abs(x) ** 40,
    lambda f, x: np.argsort(np.argsort(x, axis=0), axis=0),
    lambda f, x: np.arange(x.size).reshape(x.shape),
    _walk,
    _stuck,
    _some_copied,
    _mixed_zeros,
)  # fmt: skip


def retyped(f: Fuzz, x: np.ndarray) -> np.ndarray:
    """The values with another real dtype or memory order."""
    with np.errstate(all="ignore"):
        kind = f.one(*_TYPES)
        if kind in ("u8", "i8") and f.chance(0.5):
            x = (np.clip(x, -4, 4) * 1000).astype("i8") + np.array(2**62 if kind == "i8" else 2**63, dtype="u8").astype("i8")
        x = x.astype(kind) if np.isfinite(x.astype(np.dtype(kind))).all() else x
    return f.one(*_LAYOUTS)(x)


_TYPES = ("f8", "f8", "f4", "f2", "g", ">f8", "<f4", ">i4", "i1", "i2", "u1", "u4", "i8", "u8", "?")


def _read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


_LAYOUTS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda x: x,
    np.asfortranarray,
    lambda x: x[::-1],
    lambda x: np.repeat(x, 2, axis=0)[::2],
    lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    lambda x: np.ascontiguousarray(np.swapaxes(x, 0, -1)).swapaxes(0, -1),
    _read_only,
    lambda x: np.frombuffer(b"\0" + x.tobytes(), dtype=x.dtype, offset=1).reshape(x.shape),  # not aligned
)


def damaged(f: Fuzz, x: np.ndarray) -> Any:
    """An array that is invalid in one way."""
    return f.one(*_DAMAGES)(f, x)


def _with_wrong_values(f: Fuzz, x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    flat = x.reshape(-1)
    flat[f.rng.integers(flat.size, size=f.between(1, 3))] = f.one(np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0)
    return flat.reshape(x.shape)


def _as_objects(f: Fuzz, x: np.ndarray) -> np.ndarray:
    x = x.astype(object)
    x.flat[f.between(0, x.size - 1)] = f.one(None, "a", 10**400, 1j, [1, 2], pd.NA, decimal.Decimal("1.5"), True)
    return x


def _ragged(f: Fuzz, x: np.ndarray) -> list[Any]:
    rows = x.tolist()
    place = f.between(0, len(rows) - 1)
    rows[place] = f.one([], rows[place] + rows[place] if isinstance(rows[place], list) else [1.0], None, 1.0, "a", [[1.0]])
    return rows


_DAMAGES: tuple[Callable[[Fuzz, np.ndarray], Any], ...] = (
    *[_with_wrong_values] * 10,
    _as_objects,
    _ragged,
    lambda f, x: np.full_like(x, f.one(0, 1, 3)),
    lambda f, x: x[: f.between(0, 3)],
    lambda f, x: x[..., : f.between(0, 1)],
    lambda f, x: x.T,
    lambda f, x: x[None],
    lambda f, x: x[None, None],
    lambda f, x: x.reshape(-1),
    lambda f, x: x.flat[0],
    lambda f, x: np.array(x.flat[0]),
    lambda f, x: np.concatenate([x, x[..., :1], x[..., :1]], axis=-1),
    lambda f, x: x[:0],
    lambda f, x: x[..., :0],
    lambda f, x: x.astype(complex),
    lambda f, x: x.astype(str),
    lambda f, x: x.astype("S8"),
    lambda f, x: np.clip(np.nan_to_num(x.astype(float)), -1e6, 1e6).astype("M8[s]"),
    lambda f, x: np.clip(np.nan_to_num(x.astype(float)), -1e6, 1e6).astype("m8[s]"),
    lambda f, x: np.zeros(x.shape, dtype=[("a", float), ("b", int)]),
    lambda f, x: np.ma.masked_array(x, mask=f.rng.random(x.shape) < 0.1),
    lambda f, x: np.broadcast_to(x[:1], x.shape),
    lambda f, x: x.astype(object),
    lambda f, x: (row for row in x),
    lambda f, x: Refusing(f.one(KeyError("no"), TypeError("no"), OSError("no"), ZeroDivisionError(), IndexError(3))),
    lambda f, x: {"a": x.tolist(), "b": 3},
    lambda f, x: [x.tolist(), x[..., :1].tolist()],
    lambda f, x: x.tobytes(),
    lambda f, x: [Answering(x), 3],
)


# ---- containers --------------------------------------------------------------------------------------------------------


def contained(f: Fuzz, x: np.ndarray) -> Any:
    """The same draws in another container; most stay arrays."""
    if f.chance(0.4):
        return x
    container = f.one(*(_FOR_CHAINS if x.ndim == 3 else _FOR_TABLES if x.ndim == 2 else _FOR_COLUMNS))
    try:
        return container(f, x)
    except (TypeError, ValueError):  # another library's container that does not take such values
        return x


def _native(x: np.ndarray) -> np.ndarray:
    kind = x.dtype.newbyteorder("=") if x.dtype.itemsize <= 8 and x.dtype != np.float16 else np.dtype(float)
    return np.ascontiguousarray(x, dtype=kind)


def _names(f: Fuzz, d: int) -> list[Any]:
    pools = (
        ["a", "b", "c", "d", "e", "f"],
        [0, 1, 2, 3, 4, 5],
        ["x y", "~z", "theta[0]", "<b>", "µ", "chain 1"],
        ["x0", "x1", "x2", "x3", "x4"],
    )
    pool = f.one(*pools)
    return [*pool, *(f"more{k}" for k in range(d))][:d]


def _frame(f: Fuzz, x: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(_native(x), columns=_names(f, x.shape[1]))
    extra = f.between(0, 9)
    if extra == 0:
        frame["chain"] = np.arange(len(frame)) % 2
    elif extra == 1:
        frame = frame.convert_dtypes()
    elif extra == 2:
        frame.columns = pd.MultiIndex.from_tuples([("g", name) for name in frame.columns])
    elif extra == 3:
        frame.index = pd.date_range("2020-01-01", periods=len(frame), name="when")
    elif extra == 4:
        frame = frame.astype("Float64")
    return frame


def damaged_frame(f: Fuzz, x: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(_native(x).astype(float), columns=_names(f, x.shape[1]))
    kind = f.between(0, 9)
    first = frame.columns[0]
    if kind == 0:
        frame[first] = frame[first].astype("category")
    elif kind == 1:
        frame[first] = frame[first].astype(str)
    elif kind == 2:
        frame.columns = [first] * frame.shape[1]
    elif kind == 3:
        frame = frame.astype("Float64")
        frame.iloc[0, 0] = pd.NA
    elif kind == 4:
        frame["chain"] = f.one("a", None, np.nan, 1.5)
    elif kind == 5:
        frame["chain"] = f.rng.integers(3, size=len(frame))
    elif kind == 6:
        frame["chain"], frame["draw"] = 0, f.rng.integers(len(frame), size=len(frame))
    elif kind == 7:
        frame.index = pd.MultiIndex.from_arrays([np.zeros(len(frame)), np.arange(len(frame))], names=["chain", "other"])
    elif kind == 8:
        frame[first] = pd.to_datetime(frame[first].clip(-1e6, 1e6), unit="s")
    else:
        frame[first] = frame[first].astype(object)
        frame.iloc[0, 0] = f.one(None, "a", [1], 1j)
    return frame


def _dataset(f: Fuzz, x: np.ndarray) -> Any:
    chained = x if x.ndim == 3 else x[None]
    names = [str(name) for name in _names(f, x.shape[-1])]
    data = {name: (("chain", "draw"), chained[..., k]) for k, name in enumerate(names)}
    dataset = xr.Dataset(data)
    return f.one(
        dataset,
        dataset,
        xr.DataArray(chained, dims=("chain", "draw", "variable"), name="x"),
        dataset.rename(draw="other"),
        xr.Dataset({"x": (("chain", "draw", "dim"), chained)}, coords={"dim": names}),
    )


def _read_before(x: np.ndarray) -> Any:
    try:
        return cd.as_draws(x)
    except cd.InputError:
        return x


_FOR_TABLES: tuple[Callable[[Fuzz, np.ndarray], Any], ...] = (
    lambda f, x: x.tolist(),
    lambda f, x: tuple(map(tuple, x.tolist())),
    lambda f, x: list(x),
    _frame,
    _frame,
    _frame,
    lambda f, x: pl.DataFrame({str(name): _native(x)[:, k] for k, name in enumerate(_names(f, x.shape[1]))}),
    _dataset,
    lambda f, x: {str(name): x[:, k] for k, name in enumerate(_names(f, x.shape[1]))},
    lambda f, x: {name: x[:, k].tolist() for k, name in enumerate(_names(f, x.shape[1]))},
    lambda f, x: np.ma.masked_array(x),
    lambda f, x: x.view(np.matrix),
    lambda f, x: Answering(x),
    lambda f, x: memoryview(_native(x)),
    lambda f, x: _read_before(x),
)
_FOR_CHAINS: tuple[Callable[[Fuzz, np.ndarray], Any], ...] = (
    lambda f, x: x.tolist(),
    lambda f, x: list(x),
    lambda f, x: tuple(x),
    _dataset,
    lambda f, x: {str(name): x[..., k] for k, name in enumerate(_names(f, x.shape[-1]))},
    lambda f, x: {"x": x},
    lambda f, x: [pd.DataFrame(_native(chain), columns=list("abcdefgh")[: x.shape[-1]]) for chain in x],
    lambda f, x: Answering(x),
    lambda f, x: _read_before(x),
)
_FOR_COLUMNS: tuple[Callable[[Fuzz, np.ndarray], Any], ...] = (
    lambda f, x: x.tolist(),
    lambda f, x: tuple(x.tolist()),
    lambda f, x: pd.Series(_native(x)),
    lambda f, x: pd.Series(_native(x)).convert_dtypes(),
    lambda f, x: pd.Index(_native(x)),
    lambda f, x: pl.Series(_native(x)),
    lambda f, x: xr.DataArray(x),
    lambda f, x: array.array("d", x.astype(float).tolist()),
    lambda f, x: memoryview(_native(x)),
    lambda f, x: Answering(x),
    lambda f, x: np.ma.masked_array(x),
    lambda f, x: range(x.size),
)
