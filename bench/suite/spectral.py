"""Spectral norm: the largest stretch of an endless matrix, cut off at SIZE, by the power method.

The matrix has 1, 1/2, 1/3, ... along its rising diagonals. Each entry is a call, each vector a list
of new floats.
"""
import math

import measured

SIZE = 100
TURNS = 10
NORM = 1.274219991  # of the matrix cut off at 100


def entry(row, column):
    diagonal = row + column
    return 1.0 / (diagonal * (diagonal + 1) // 2 + row + 1)


def times(vector):
    size = range(len(vector))
    return [sum(entry(row, column) * vector[column] for column in size) for row in size]


def transposed_times(vector):
    size = range(len(vector))
    return [sum(entry(column, row) * vector[column] for column in size) for row in size]


def norm(size, turns):
    """Return the square root of the largest eigenvalue of the matrix's square."""
    vector = [1.0] * size
    for _ in range(turns):
        vector = transposed_times(times(vector))
    image = times(vector)
    return math.sqrt(sum(x * x for x in image) / sum(x * x for x in vector))


def main(loops):
    """Return the norm."""
    for _ in range(loops):
        found = norm(SIZE, TURNS)
        assert abs(found - NORM) < 1e-9, found
    return "%.9f" % found


if __name__ == "__main__":
    measured.run(main)
