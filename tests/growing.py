"""A run that grows by itself, for tests of what watches it: autocorrelated chains, a clock, and a follower of both."""

from dataclasses import replace

import numpy as np

import copula_discrepancy as cd
from copula_discrepancy.data.following.progress import Follower, Progress


def chains_of(n_chains, n_draws, correlation, *, seed, variables=3, lag=0.5):
    """Chains whose pairs of variables have this correlation: AR(1) of normal draws."""
    rng = np.random.default_rng(seed)
    spread = np.linalg.cholesky((1.0 - correlation) * np.eye(variables) + correlation)
    noise = rng.standard_normal((n_chains, n_draws, variables)) @ spread.T
    found = np.empty_like(noise)
    found[:, 0] = noise[:, 0]
    for t in range(1, n_draws):
        found[:, t] = lag * found[:, t - 1] + np.sqrt(1.0 - lag**2) * noise[:, t]
    return found


class Clock:
    """A clock that goes on when somebody sleeps, so many times as fast."""

    def __init__(self, pace=1.0):
        self.now, self.pace = 0.0, pace

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += self.pace * seconds


class Scripted(Follower):
    """What each poll shows: lists of lengths of the chains, one after another; the last is shown again and again."""

    def __init__(self, values, lengths, *, finished=True, **fields):
        self.values, self.lengths, self.finished, self.fields = values, lengths, finished, fields
        self.polls = 0
        self.notes = ()  # of the draws that are read at the end
        self.names = tuple(f"x{k}" for k in range(values.shape[2]))

    def poll(self):
        lengths = self.lengths[min(self.polls, len(self.lengths) - 1)]
        before = sum(self.lengths[self.polls - 1]) if 0 < self.polls < len(self.lengths) else 0
        new = sum(lengths) - before if self.polls < len(self.lengths) else 0
        self.polls += 1
        last = self.polls >= len(self.lengths)
        return Progress(
            tuple(self.values[k, :n] for k, n in enumerate(lengths)),
            self.names if lengths else (),
            tuple(f"run_{k + 1}.csv" for k in range(len(lengths))),
            new=new,
            finished=(self.finished if last else False),
            **self.fields,
        )

    def whole(self):
        lengths = self.lengths[min(self.polls, len(self.lengths)) - 1]
        labels = tuple(f"run_{k + 1}.csv" for k in range(len(lengths)))
        read = cd.as_draws({name: self.values[:, : lengths[0], k] for k, name in enumerate(self.names)})
        return replace(read, chain_names=labels, notes=self.notes)
