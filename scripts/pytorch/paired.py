# SPDX-License-Identifier: Apache-2.0
"""Comparisons of pairs, and what many of them may claim together: C1 to C4 of harness/measure/paired.h, with nothing but the
standard library.
"""

import math
import statistics

LEVEL = 0.05
FAR_ERRORS = 0.9  # C3
ROUNDING = 1e-12


def beta_fraction(x, a, b):
    """Continued fraction of I_x(a, b) in the form of Lentz (Abramowitz and Stegun 26.5.8), for x < (a + 1) / (a + b + 2)."""
    tiny = 1e-290
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    f = d
    for m in range(1, 1000):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d, c = 1 + term * d, 1 + term / c
            d, c = 1 / (d if abs(d) > tiny else tiny), c if abs(c) > tiny else tiny
            f *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return f


def student_two_sided(t, dof):
    """P(|T| > t), t >= 0."""
    x, rest = dof / (dof + t * t), t * t / (dof + t * t)
    if rest == 0 or x == 0:
        return 1.0 if rest == 0 else 0.0
    a, b = dof / 2, 0.5
    front = math.exp(a * math.log(x) + b * math.log(rest) - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(x, a, b) / a
    return 1 - front * beta_fraction(rest, b, a) / b


def student_t_975(dof):
    """The 0.975 quantile, by halving the range of its logarithm."""
    low, high = math.log(1.9), math.log(13)  # of all degrees of freedom from 1 on
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_two_sided(math.exp(middle), dof) > LEVEL else (low, middle)
    return math.exp(high)


class Comparison:
    """first over second: ratio, its 95 % interval low to high (None of one pair), robust (C3), is_far (C3), p (C2)."""

    def __init__(self, first, second):
        d = [math.log(a / b) for a, b in zip(first, second)]
        n, mean = len(d), statistics.fmean(d)
        robust = statistics.median((d[i] + d[j]) / 2 for i in range(n) for j in range(i, n))
        self.n_pairs, self.ratio, self.robust = n, math.exp(mean), math.exp(robust)
        self.low, self.high, self.p, self.is_far = None, None, 1.0, False
        if n < 2:
            return
        error = statistics.stdev(d) / math.sqrt(n)
        half = student_t_975(n - 1) * error
        self.low, self.high = math.exp(mean - half), math.exp(mean + half)
        if abs(mean) >= ROUNDING:
            self.p = 0.0 if error < ROUNDING else student_two_sided(abs(mean) / error, n - 1)
        self.is_far = abs(robust - mean) > FAR_ERRORS * error + ROUNDING


def holds_together(p):
    """C4, Holm's correction: which of the verdicts with these probabilities hold together."""
    holds = [False] * len(p)
    for n_held, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        if not p[i] <= LEVEL / (len(p) - n_held):
            break
        holds[i] = True
    return holds
