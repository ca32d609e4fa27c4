"""Textbook formulas with 60 digits: an independent, slow implementation of every copula."""

import functools

import mpmath as mp

DIGITS = 60
mp.mp.dps = DIGITS


def _power_of(g, g1, g2, theta):
    """(phi, phi', phi'') of phi = g**theta from g and its derivatives."""
    return (
        g**theta,
        theta * g ** (theta - 1) * g1,
        theta * (theta - 1) * g ** (theta - 2) * g1**2 + theta * g ** (theta - 1) * g2,
    )


def _clayton(t, theta):
    return (t**-theta - 1) / theta, -(t ** (-theta - 1)), (theta + 1) * t ** (-theta - 2)


def _gumbel(t, theta):
    return _power_of(-mp.log(t), -1 / t, 1 / t**2, theta)


def _frank(t, theta):
    e = mp.exp(-theta * t)
    return (
        -mp.log((e - 1) / (mp.exp(-theta) - 1)),
        -theta * e / (1 - e),
        theta**2 * e / (1 - e) ** 2,
    )


def _joe(t, theta):
    w = 1 - t
    s = 1 - w**theta
    return (
        -mp.log(s),
        -theta * w ** (theta - 1) / s,
        theta * w ** (theta - 2) * (theta - 1 + w**theta) / s**2,
    )


def _a1(t, theta):
    a = 1 / theta
    return _power_of(
        t**a + t**-a - 2,
        a * (t ** (a - 1) - t ** (-a - 1)),
        a * ((a - 1) * t ** (a - 2) + (a + 1) * t ** (-a - 2)),
        theta,
    )


def _a2(t, theta):
    return _power_of((1 - t) ** 2 / t, 1 - 1 / t**2, 2 / t**3, theta)


def _root_of_sum(g):
    """The t < 1 with t + 1/t = g + 2."""
    return 2 / (g + 2 + mp.sqrt((g + 2) ** 2 - 4))


GENERATORS = {"Clayton": _clayton, "Gumbel": _gumbel, "Frank": _frank, "Joe": _joe, "A1": _a1, "A2": _a2}
INVERSES = {
    "Clayton": lambda s, theta: (1 + theta * s) ** (-1 / theta),
    "Gumbel": lambda s, theta: mp.exp(-(s ** (1 / theta))),
    "Frank": lambda s, theta: -mp.log(1 + mp.exp(-s) * (mp.exp(-theta) - 1)) / theta,
    "Joe": lambda s, theta: 1 - (1 - mp.exp(-s)) ** (1 / theta),
    "A1": lambda s, theta: _root_of_sum(s ** (1 / theta)) ** theta,
    "A2": lambda s, theta: _root_of_sum(s ** (1 / theta)),
}


def archimedean_cdf(name, theta, u, v):
    phi = GENERATORS[name]
    return INVERSES[name](phi(u, theta)[0] + phi(v, theta)[0], theta)


def archimedean_logpdf(name, theta, u, v):
    if name == "Joe":  # 1 - (1-t)**theta would need 600 digits in the corner
        a, b = (1 - u) ** theta, (1 - v) ** theta
        s = a + b - a * b
        return (1 / theta - 2) * mp.log(s) + (theta - 1) * mp.log((1 - u) * (1 - v)) + mp.log(theta - 1 + s)
    phi = GENERATORS[name]
    fu, fv = phi(u, theta), phi(v, theta)
    _, first, second = phi(INVERSES[name](fu[0] + fv[0], theta), theta)
    return mp.log(-second * fu[1] * fv[1] / first**3)


def normal_quantile(u):
    return _normal_quantile(u, mp.mp.prec)


@functools.cache  # a grid asks for the same few again and again
def _normal_quantile(u, precision):
    return -mp.sqrt(2) * mp.erfinv(1 - 2 * u)


def t_cdf(nu, x):
    tail = mp.betainc(nu / 2, mp.mpf(1) / 2, 0, nu / (nu + x * x), regularized=True) / 2
    return tail if x < 0 else 1 - tail


def t_quantile(nu, u):
    return _t_quantile(nu, u, mp.mp.prec)


@functools.cache  # ranks occur in both variables, and a quantile is the same whatever the correlation
def _t_quantile(nu, u, precision):
    if u > mp.mpf(1) / 2:
        return -t_quantile(nu, 1 - u)
    if u == mp.mpf(1) / 2:
        return mp.mpf(0)
    low, high = mp.mpf(-1), mp.mpf(0)  # bracket, bisect to a digit, then secant
    while t_cdf(nu, low) > u:
        low *= 4
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(nu, middle) < u else (low, middle)
    return mp.findroot(lambda x: mp.log(t_cdf(nu, x) / u), (low, high), solver="anderson", tol=mp.mpf(10) ** -70, verify=False)


def gaussian_logpdf(rho, u, v):
    a, b = normal_quantile(u), normal_quantile(v)
    s = 1 - rho**2
    return -mp.log(s) / 2 - (rho**2 * (a**2 + b**2) - 2 * rho * a * b) / (2 * s)


def student_logpdf(rho, nu, u, v):
    a, b = t_quantile(nu, u), t_quantile(nu, v)
    s = 1 - rho**2
    q = (a**2 + b**2 - 2 * rho * a * b) / s
    joint = -mp.log(2 * mp.pi) - mp.log(s) / 2 - (nu + 2) / 2 * mp.log(1 + q / nu)

    def margin(x):
        constant = mp.loggamma((nu + 1) / 2) - mp.loggamma(nu / 2) - mp.log(nu * mp.pi) / 2
        return constant - (nu + 1) / 2 * mp.log(1 + x**2 / nu)

    return joint - margin(a) - margin(b)


def logpdf(copula, u, v, theta=None):
    """log c of one of the library's copulas at 60 digits, for numbers or strings u, v."""
    theta = mp.mpf(copula.theta) if theta is None else theta
    u, v = mp.mpf(u), mp.mpf(v)
    rotation = getattr(copula, "rotation", 0)
    base = getattr(copula, "base", copula)
    u = 1 - u if rotation in (90, 180) else u
    v = 1 - v if rotation in (180, 270) else v
    if base.name == "Gaussian":
        return gaussian_logpdf(theta, u, v)
    if base.name == "StudentT":
        return student_logpdf(theta, mp.mpf(base.df), u, v)
    if base.name == "Frank" and theta < 0:
        return archimedean_logpdf("Frank", -theta, 1 - u, v)
    return archimedean_logpdf(base.name, theta, u, v)
