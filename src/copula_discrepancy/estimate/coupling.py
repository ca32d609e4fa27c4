"""The margins of one sample joined with the dependence of another, through ranks."""

import numpy as np
from numpy.typing import NDArray


def random_order(column: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """The positions that sort a column, equal values in random order.

    Ties have no order of their own. If they were broken by row, equal values of two columns would be ordered alike, and
    independent columns of few values would become dependent.

    Parameters
    ----------
    column : array (n,)
        Finite values.
    rng : Generator
        Called once, whether there are ties or not.

    Returns
    -------
    array (n,)
        ``column[order]`` is sorted.
    """
    shuffled = rng.permutation(column.size)
    order: NDArray[np.intp] = shuffled[np.argsort(column[shuffled], kind="stable")]
    return order
