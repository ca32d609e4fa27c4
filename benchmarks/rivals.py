"""Other two-sample tests of dependence, on ranks: what `form` is measured against.

Both samples have n draws, given as ranks from 0 to n - 1, (n, 2). Ranks in the pooled sample have the wrong null distribution,
because the ranks of either sample alone are fixed: after each permutation of rows between the samples, ranks are computed
again within both (Seo, 2021). Rows are permuted with the ranks in their own sample, spread at random within 1 / n, as values,
so that the margins of the two samples may differ.

Seo, J. (2021). Randomization tests for equality in dependence structure. Journal of Business and Economic Statistics 39,
1026-1037.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numba
import numpy as np
from scipy.signal import lfilter
from scipy.stats import rankdata

PERMUTATIONS = 199
FOLDS = 5
# points of the multiplier bootstrap on each axis; in eight samples, 40 changed no p-value below 0.15 by more than 0.005
GRID = 20
MEMORY = 20.0  # draws in which the wild bootstrap forgets; the value of its authors
MEDIAN_DISTANCE = 0.5  # of two uniform points in the unit square, 0.51

Statistic = Callable[[np.ndarray, np.ndarray], float]


def ranks(draws: np.ndarray) -> np.ndarray:
    """Ranks of each variable from 0, all chains together: (n, 2)."""
    return rankdata(draws.reshape(-1, draws.shape[-1]), axis=0).astype(np.int64) - 1


def permuted(a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Ranks of both samples after random permutations of the rows between them."""
    n = len(a)
    pooled = np.concatenate([a, b])
    orders = np.ascontiguousarray(np.argsort(pooled + rng.random(pooled.shape), axis=0).T)
    again = np.empty_like(pooled)
    mine = np.arange(2 * n) < n
    while True:
        rng.shuffle(mine)
        _rank_again(orders, mine, again)
        yield again[mine], again[~mine]


@numba.njit
def _rank_again(orders: np.ndarray, mine: np.ndarray, again: np.ndarray) -> None:  # pragma: no cover
    """Ranks within the rows that are mine and within the others, given the orders of all rows."""
    for column in range(len(orders)):
        count = [0, 0]
        for row in orders[column]:
            part = int(mine[row])
            again[row, column] = count[part]
            count[part] += 1


def permutation_pvalue(statistic: Statistic, a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> float:
    """P-value of a statistic that is large if the samples differ."""
    observed = statistic(a, b)
    parts = permuted(a, b, rng)
    beyond = sum(statistic(*next(parts)) >= observed for _ in range(PERMUTATIONS))
    return (1.0 + beyond) / (1.0 + PERMUTATIONS)


# ---- statistics of two samples --------------------------------------------------------------------------------------------


@numba.njit(fastmath=True)
def _distance(u: np.float32, v: np.float32) -> np.float32:  # pragma: no cover
    return np.sqrt(u * u + v * v)  # powers would be in double precision


@numba.njit(fastmath=True)
def _signed_distances(x: np.ndarray, n: int) -> float:  # pragma: no cover
    """Sum of distances between the first n points and the others less those within, (2, point), in single precision."""
    total = 0.0
    for i in range(x.shape[1]):
        within, between = np.float32(0.0), np.float32(0.0)
        for j in range(i + 1, n):
            within += _distance(x[0, i] - x[0, j], x[1, i] - x[1, j])
        if i < n:
            for j in range(n, x.shape[1]):
                between += _distance(x[0, i] - x[0, j], x[1, i] - x[1, j])
        else:
            for j in range(i + 1, x.shape[1]):
                within += _distance(x[0, i] - x[0, j], x[1, i] - x[1, j])
        total += np.float64(between) - np.float64(within)
    return total


def energy_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Szekely and Rizzo (2004): twice the mean distance between the samples less those within."""
    n = len(a)
    points = np.concatenate([a, b]).T.astype(np.float32, order="C")  # rows in one piece, for vector instructions
    return 2.0 * _signed_distances(points / np.float32(n), n) / n**2


@cache
def kernel_features(n: int, bandwidth: float) -> np.ndarray:
    """Functions of a rank, (n, feature), whose products sum to the Gaussian kernel of two ranks, up to 1e-9."""
    u = (np.arange(n) + 0.5) / n
    values, vectors = np.linalg.eigh(np.exp(-0.5 * ((u[:, None] - u) / bandwidth) ** 2))
    kept = values > 1e-12 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def mean_discrepancy(a: np.ndarray, b: np.ndarray, bandwidth: float = MEDIAN_DISTANCE) -> float:
    """Squared maximum mean discrepancy of a Gaussian kernel (Gretton et al., 2012), which is a product over both variables."""
    features = kernel_features(len(a), bandwidth)
    x, y = (features[part[:, 0]].T @ features[part[:, 1]] for part in (a, b))
    return float(np.sum((x - y) ** 2)) / len(a) ** 2


@numba.njit
def _squared_copulas(a: np.ndarray, b: np.ndarray) -> int:  # pragma: no cover
    """The sum over all pairs of ranks of the squared difference of counts below; `a` and `b` order the second ranks."""
    n, total = a.size, 0
    counts = np.zeros(n, np.int32)
    for i in range(n):
        step, low, high = (1, a[i], b[i]) if a[i] < b[i] else (-1, b[i], a[i])
        for j in range(low, high):
            counts[j] += np.int32(step)
        row = np.int32(0)
        for j in range(n):
            row += counts[j] * counts[j]
        total += row
    return total


def cramer_von_mises(a: np.ndarray, b: np.ndarray) -> float:
    """The integrated squared difference of the two empirical copulas, times n (Remillard and Scaillet, 2009)."""
    n = len(a)
    second = [np.empty(n, np.int64) for _ in range(2)]
    for part, rows in zip((a, b), second, strict=True):
        rows[part[:, 0]] = part[:, 1]
    return _squared_copulas(*second) / n**3


@numba.njit(fastmath=True)
def _centred_products(centred: np.ndarray, p: np.ndarray) -> float:  # pragma: no cover
    """The sum of products of the centred distances of both variables; the second has rank p[i] where the first has i."""
    n, total = p.size, 0.0
    for i in range(n):
        row, other = centred[i], centred[p[i]]
        part = np.float32(0.5) * row[i] * other[p[i]]
        for j in range(i + 1, n):
            part += row[j] * other[p[j]]
        total += part
    return 2.0 * total


@cache
def _centred_distances(n: int) -> tuple[np.ndarray, float]:
    """Doubly centred distances of ranks, and the sum of their squares, the same for every sample."""
    rank = np.arange(n, dtype=float)
    apart = np.abs(rank[:, None] - rank)
    means = apart.mean(axis=0)
    centred = (apart - means - means[:, None] + means.mean()) / n
    return centred.astype(np.float32), float(np.sum(centred**2))


def distance_correlation(part: np.ndarray) -> float:
    """Szekely, Rizzo and Bakirov (2007)."""
    centred, square = _centred_distances(len(part))
    second = np.empty(len(part), np.int64)
    second[part[:, 0]] = part[:, 1]
    return float(np.sqrt(max(_centred_products(centred, second), 0.0) / square))


def xi(part: np.ndarray) -> np.ndarray:
    """Chatterjee's xi (2021) of the second variable given the first, and of the first given the second."""
    n = len(part)
    second, first = np.empty(n, np.int64), np.empty(n, np.int64)
    second[part[:, 0]], first[part[:, 1]] = part[:, 1], part[:, 0]
    return np.array([1.0 - 3.0 * np.abs(np.diff(rows)).sum() / (n**2 - 1.0) for rows in (second, first)])


def xi_difference(a: np.ndarray, b: np.ndarray) -> float:
    """The larger of the differences in both directions."""
    return float(np.max(np.abs(xi(a) - xi(b))))


def distance_correlation_difference(a: np.ndarray, b: np.ndarray) -> float:
    """The difference of the two distance correlations."""
    return abs(distance_correlation(a) - distance_correlation(b))


# ---- tests with a null distribution of their own --------------------------------------------------------------------------


def _copula_and_influence(part: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The empirical copula on a grid, (point), and the influence of each draw on it, (point, draw), with estimated slopes."""
    n, edges = len(part), 1.0 / np.sqrt(len(part))
    u, v = ((part + 1.0) / (n + 1.0)).T
    below_u, below_v = u <= grid[:, None], v <= grid[:, None]

    def copula(at_u: np.ndarray, at_v: np.ndarray) -> np.ndarray:
        return (u <= at_u[:, None]).astype(float) @ (v <= at_v[:, None]).astype(float).T / n

    low, high = np.maximum(grid - edges, 0.0), np.minimum(grid + edges, 1.0)
    in_u = (copula(high, grid) - copula(low, grid)) / (high - low)[:, None]
    in_v = (copula(grid, high) - copula(grid, low)) / (high - low)
    both = (below_u[:, None] & below_v).astype(float)
    influence = both - in_u[:, :, None] * below_u[:, None] - in_v[:, :, None] * below_v
    return copula(grid, grid).ravel(), influence.reshape(-1, n)


def multiplier_pvalue(a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> float:
    """The Cramer-von Mises statistic with the multiplier bootstrap of Remillard and Scaillet (2009), on a grid."""
    grid = (np.arange(GRID) + 0.5) / GRID
    copulas, replicates = [], []
    for part in (a, b):
        copula, influence = _copula_and_influence(part, grid)
        weights = rng.standard_normal((PERMUTATIONS, len(part)))
        weights -= weights.mean(axis=1, keepdims=True)
        copulas.append(copula)
        replicates.append(weights @ influence.T / len(part))
    observed = np.sum((copulas[0] - copulas[1]) ** 2)
    beyond = np.count_nonzero(np.sum((replicates[0] - replicates[1]) ** 2, axis=1) >= observed)
    return (1.0 + beyond) / (1.0 + PERMUTATIONS)


def classifier_score(kind: str, a: np.ndarray, b: np.ndarray, seed: int) -> float:
    """Area under the ROC curve of a classifier that tells the samples apart, in cross-validation.

    For equal samples it is below 1/2: all ranks are there once, so that a rank in the training part of a sample is not in the
    rest of it. The simulated null distribution has the same.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    rows, labels = np.concatenate([a, b]) / len(a), np.repeat([0, 1], len(a))
    model = {
        "trees": HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=8, max_bins=32, random_state=seed),
        "neighbours": KNeighborsClassifier(30),
    }[kind]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    scores = cross_val_predict(model, rows, labels, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(labels, scores))


@cache
def classifier_null(kind: str, n: int) -> np.ndarray:
    """The score for pairs of samples of independent variables; for equal samples of strong dependence it is a bit lower."""
    rng = np.random.default_rng((31, n))
    return np.array([classifier_score(kind, *_independent(n, rng), seed) for seed in range(2 * PERMUTATIONS + 1)])


def _independent(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a, b = (np.stack([rng.permutation(n), rng.permutation(n)], axis=1) for _ in range(2))
    return a, b


def classifier_pvalue(kind: str, a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> float:
    """Classifier two-sample test (Lopez-Paz and Oquab, 2017), from the simulated null distribution of its score."""
    null = classifier_null(kind, len(a))
    beyond = np.count_nonzero(null >= classifier_score(kind, a, b, int(rng.integers(2**31))))
    return (1.0 + beyond) / (1.0 + len(null))


def wild_pvalue(a: np.ndarray, b: np.ndarray, chains: int, rng: np.random.Generator, *, centred: bool = False) -> float:
    """MMD with the wild bootstrap of Chwialkowski, Sejdinovic and Gretton (2014), for chains of equal length.

    A kernel centred in both variables gives the same MMD of ranks, and replicates without the part of the margins, which ranks
    do not have.
    """
    n = len(a)
    features = kernel_features(n, MEDIAN_DISTANCE)
    features = features - features.mean(axis=0) if centred else features
    means, replicates = [], []
    for part in (a, b):
        products = (features[part[:, 0], :, None] * features[part[:, 1], None, :]).reshape(n, -1)
        noise = rng.standard_normal((PERMUTATIONS, chains, n // chains))
        noise[:, :, 1:] *= np.sqrt(-np.expm1(-2.0 / MEMORY))
        weights = lfilter([1.0], [1.0, -np.exp(-1.0 / MEMORY)], noise, axis=-1).reshape(PERMUTATIONS, n)
        weights -= weights.mean(axis=1, keepdims=True)
        means.append(products.mean(axis=0))
        replicates.append(weights @ products / n)
    observed = np.sum((means[0] - means[1]) ** 2)
    beyond = np.count_nonzero(np.sum((replicates[0] - replicates[1]) ** 2, axis=1) >= observed)
    return (1.0 + beyond) / (1.0 + PERMUTATIONS)


Test = Callable[[np.ndarray, np.ndarray, np.random.Generator], float]
_narrow: Any = partial(mean_discrepancy, bandwidth=MEDIAN_DISTANCE / 4.0)
RIVALS: dict[str, tuple[Test, str]] = {
    "energy distance": (partial(permutation_pvalue, energy_distance), "permutations"),
    "MMD": (partial(permutation_pvalue, mean_discrepancy), "permutations"),
    "MMD, bandwidth / 4": (partial(permutation_pvalue, _narrow), "permutations"),
    "Cramer-von Mises": (partial(permutation_pvalue, cramer_von_mises), "permutations"),
    "Remillard and Scaillet": (multiplier_pvalue, "multiplier bootstrap"),
    "classifier, boosted trees": (partial(classifier_pvalue, "trees"), "simulated"),
    "classifier, 30 neighbours": (partial(classifier_pvalue, "neighbours"), "simulated"),
    "xi": (partial(permutation_pvalue, xi_difference), "permutations"),
    "distance correlation": (partial(permutation_pvalue, distance_correlation_difference), "permutations"),
}
