"""Newton's iteration for the maximum of a likelihood in one parameter, step by step, for many likelihoods side by side.

A likelihood is evaluated elsewhere: in a compiled loop, by NumPy, or on another device. What is here decides, from its value,
slope and curvature at theta, where to evaluate it next. The iteration is bracketed by points where the slope has opposite
signs; later steps use slope and curvature at two points, and the first one a `bend` known from a part of the draws: each saves
a pass over all draws.
"""

import numpy as np

from copula_discrepancy._core.kernels.compiled import compiled

# The iteration stops when the estimated error of theta, relative to the family's scale, is below this.
LAST_ERROR = 1e-12
ULPS = 4 * 2.0**-53  # a step of a few units in the last place counts as zero
# Theta beyond this is perfect dependence in float64; a likelihood that still increases there has no maximum.
THETA_CEILING = 1e12

# columns of a state: the next theta, its value there, the bracket and whether its ends are known, the last point, the bend,
# where a step leads to before it is limited, and the status
THETA, VALUE, LOW, HIGH, LOW_KNOWN, HIGH_KNOWN, LAST_THETA, LAST_SLOPE, LAST_CURVATURE, BEND, TARGET, STATUS = range(12)
COLUMNS = 12
SEARCHING, AT_BOUND, FOUND, LOWER, UPPER = 0.0, 1.0, 2.0, 3.0, 4.0  # AT_BOUND: to be evaluated at the lower bound


@compiled(nogil=True, error_model="numpy", inline="always")
def _step(theta, slope, curvature, last_theta, last_slope, last_curvature, bend, scale):
    """(step to the maximum, gain in value, estimated error of the step relative to scale, bend).

    With a second point the slope is interpolated by the cubic through both, with an error of the order of
    (step * distance)**2; that of Newton's step is of the order of step**2, everything in units of `scale`.
    """
    newton = -slope / curvature
    c2 = curvature * bend
    c3 = 0.0
    error = (newton / scale) ** 2
    if not np.isnan(last_theta) and last_theta != theta:
        h = last_theta - theta
        a = (last_slope - slope - curvature * h) / h**2
        b = (last_curvature - curvature) / h
        c2 = 3.0 * a - b
        c3 = (b - 2.0 * a) / h
        error *= min((h / scale) ** 2, 1.0)
    step = newton
    for _ in range(3):
        value = slope + step * (curvature + step * (c2 + step * c3))
        turn = curvature + step * (2.0 * c2 + step * 3.0 * c3)
        if not turn < 0.0:  # the cubic turns before its root: the root is too far away
            return newton, 0.5 * slope * newton, (newton / scale) ** 2, 0.0
        step -= value / turn
    gain = step * (slope + step * (curvature / 2.0 + step * (c2 / 3.0 + step * c3 / 4.0)))
    return step, gain, error, c2 / curvature


@compiled(nogil=True, error_model="numpy", inline="always")
def _uphill(theta, slope, low, high, scale):
    """A step along the slope where the likelihood is not concave: halfway to a finite bound, otherwise the scale."""
    if slope >= 0.0:
        return 0.5 * (high - theta) if np.isfinite(high) else scale
    return -0.5 * (theta - low) if np.isfinite(low) else -scale


@compiled(nogil=True, error_model="numpy", inline="always")
def _inside(target, theta, low, high, bracketed):
    """The Newton target if it lies inside (low, high) and not too far away, otherwise a point that does."""
    reach = 4.0 * (1.0 + abs(theta))
    if low < target and target < high and (bracketed or abs(target - theta) <= reach):
        return target
    if target >= high:
        return 0.5 * (theta + high) if np.isfinite(high) else theta + reach
    if target <= low:
        return 0.5 * (theta + low) if np.isfinite(low) else theta - reach
    return theta + np.copysign(reach, target - theta)


@compiled(nogil=True, error_model="numpy")
def newton_move(state, lower, upper, lower_included):
    """Set the next theta of a state from where its step leads to."""
    theta = state[THETA]
    if abs(theta) > THETA_CEILING:
        state[THETA] = upper if theta > 0.0 else lower
        state[VALUE] = np.inf
        state[STATUS] = UPPER if theta > 0.0 else LOWER
        return
    bracketed = state[LOW_KNOWN] > 0.0 and state[HIGH_KNOWN] > 0.0
    theta = _inside(state[TARGET], theta, state[LOW], state[HIGH], bracketed)
    state[THETA] = theta
    state[STATUS] = SEARCHING
    if theta >= upper or (theta <= lower and not lower_included):
        # no float lies between theta and the open bound: the likelihood increases up to it
        state[VALUE] = np.inf
        state[STATUS] = UPPER if theta >= upper else LOWER


@compiled(nogil=True, error_model="numpy")
def newton_step(states, active, value, slope, curvature, scale, lower, upper, lower_included):
    """Use the likelihood at the thetas of the `active` states: these are found, or have another theta to look at."""
    for a in range(active.size):
        state = states[active[a]]
        theta = state[THETA]
        state[VALUE] = value[a]
        if slope[a] > 0.0 or (slope[a] == 0.0 and curvature[a] >= 0.0):  # leave a stationary minimum upwards
            state[LOW] = theta
            state[LOW_KNOWN] = 1.0
        else:
            state[HIGH] = theta
            state[HIGH_KNOWN] = 1.0
        if curvature[a] < 0.0:
            step, gain, error, bend = _step(
                theta, slope[a], curvature[a], state[LAST_THETA], state[LAST_SLOPE], state[LAST_CURVATURE], state[BEND],
                scale[a],
            )  # fmt: skip
            state[BEND] = bend
            end = theta + step
            if (error <= LAST_ERROR or abs(step) <= ULPS * abs(theta)) and state[LOW] <= end and end <= state[HIGH]:
                state[THETA] = end
                state[VALUE] = value[a] + gain
                state[STATUS] = FOUND
                continue
        else:
            step = _uphill(theta, slope[a], state[LOW], state[HIGH], scale[a])
            if slope[a] < 0.0 and state[LOW_KNOWN] == 0.0 and lower_included:
                step = state[LOW] - theta  # evaluate at the bound itself, once
        state[TARGET] = theta + step
        state[LAST_THETA] = theta
        state[LAST_SLOPE] = slope[a]
        state[LAST_CURVATURE] = curvature[a]
        if state[TARGET] <= state[LOW] and state[LOW_KNOWN] == 0.0 and lower_included:
            state[STATUS] = AT_BOUND
        else:
            newton_move(state, lower, upper, lower_included)


@compiled(nogil=True, error_model="numpy")
def newton_bound(states, active, value, slope, lower, upper):
    """Use the likelihood at the included lower bound: it is the maximum if the likelihood decreases from there."""
    for a in range(active.size):
        state = states[active[a]]
        if slope[a] <= 0.0:
            state[THETA] = lower
            state[VALUE] = value[a]
            state[STATUS] = LOWER
        else:
            state[LOW_KNOWN] = 1.0
            newton_move(state, lower, upper, True)
