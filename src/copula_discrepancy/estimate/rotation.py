"""Whether some draws gather in a part of the distribution more than others do, tested by rotating them along their chains.

Both the marks on draws, such as divergences, and the visits to a part of the distribution come in runs, so the number of marked
draws inside it varies more than that of independent draws. Rotating the marks along a chain, its end joined to its beginning,
keeps the runs of both and breaks what they have to do with each other. If they are unrelated, all rotations are equally likely,
so the number is compared with those of all rotations of all chains; their distribution is computed, not simulated.
"""

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


def rotation_pvalue(marked: Flags, inside: Flags) -> tuple[float, float]:
    """Probability that at least as many marked draws are inside if every chain's marks are rotated at random.

    The test holds however few draws are marked, if chains are stationary; it is conservative if they are very few. It compares
    within chains: that one chain has more marked draws, and more draws inside, is no evidence.

    Parameters
    ----------
    marked, inside : array (chain, draw) of bool
        Which draws are marked, and which are in the part.

    Returns
    -------
    float, float
        The p-value, and the smallest one that these marks could have had: that of the rotations with most of them inside.
    """
    size = marked.shape[1]
    spectra = np.conj(np.fft.rfft(marked, axis=1)) * np.fft.rfft(inside, axis=1)
    counts = np.rint(np.fft.irfft(spectra, size, axis=1)).astype(np.intp)  # for each rotation, the marked draws inside
    chances = np.ones(1)
    for chain in counts:
        chances = np.convolve(chances, np.bincount(chain) / size)
    return float(min(chances[int(np.count_nonzero(marked & inside)) :].sum(), 1.0)), float(chances[-1])
