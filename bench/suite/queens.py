"""n-queens: all ways to place queens that do not see each other, by generators that call themselves.

A position is a tuple of columns, row by row; sets hold what is seen already. Eight queens have 92
solutions, twelve of them different when the board may be turned and mirrored.
"""
import measured

SOLUTIONS = {4: 2, 5: 10, 6: 4, 7: 40, 8: 92}
DIFFERENT = {4: 1, 5: 2, 6: 1, 7: 6, 8: 12}
LARGEST = 8


def place(size, placed, columns, rising, falling):
    """Yield every solution that begins with what is placed."""
    row = len(placed)
    if row == size:
        yield placed
        return
    for column in range(size):
        if column in columns or row + column in rising or row - column in falling:
            continue
        yield from place(size, placed + (column,), columns | {column}, rising | {row + column},
                         falling | {row - column})


def solutions(size):
    nothing = frozenset()
    return place(size, (), nothing, nothing, nothing)


def turned(solution):
    """The same queens on a board turned by a quarter."""
    size = len(solution)
    columns = [0] * size
    for row, column in enumerate(solution):
        columns[column] = size - 1 - row
    return tuple(columns)


def mirrored(solution):
    return tuple(reversed(solution))


def same(solution):
    """Yield the eight positions that are one."""
    for side in (solution, mirrored(solution)):
        for _ in range(4):
            yield side
            side = turned(side)


def is_right(solution):
    """No two of them see each other: looked at pair by pair."""
    return all(a != b and abs(a - b) != apart
               for row, a in enumerate(solution)
               for apart, b in enumerate(solution[row + 1:], 1))


def main(loops):
    """Return how many solutions were found in all."""
    count = 0
    for _ in range(loops):
        for size in range(4, LARGEST + 1):
            found = list(solutions(size))
            assert len(found) == len(set(found)) == SOLUTIONS[size], (size, len(found))
            assert all(map(is_right, found))
            assert len({min(same(solution)) for solution in found}) == DIFFERENT[size]
            count += len(found)
    return count


if __name__ == "__main__":
    measured.run(main)
