"""Results of repeated runs that the tests of several rooms share."""

from helpers.cl.record import AccuracyMatrix, Run

# Worked example E13.
A, B = [77.1, 75.4, 78.0, 76.2, 77.3], [75.0, 74.1, 76.9, 74.2, 76.0]


def keyed(values, order=0):
    return {(seed, order): value for seed, value in enumerate(values)}


def run(final, seed=0, order="a", name="ER", n=None, **options):
    matrix = AccuracyMatrix([[final, 10.0], [final, final]], n=n, **options)
    return Run(matrix, name, seed=seed, order=order)
