"""meteor contest: ten pieces of five hexagons each fill a board of five by ten, in 2098 ways.

Pieces are drawn in slanted coordinates (each row half a hexagon further left), where turns by a sixth
are exact; on the board they are numbers, a bit a cell. The lowest free cell is always covered next, and
no hole is left whose size is no multiple of five. A loop counts the ways in which one piece covers the
first cell.
"""
import measured

WIDTH, HEIGHT = 5, 10
CELLS = WIDTH * HEIGHT
ALL = (1 << CELLS) - 1

# The rarest at the first cell come first.
PIECES = (".ooo/o/o", ".o.o/ooo", "...o/...o/.oo/o", "..oo/ooo", ".oo/.o/o/o", "oooo/...o",
          ".o/.oo/o.o", ".o/.o/.o/oo", "o/o/oo/.o", "ooo/.o/.o")
WAYS = (54, 67, 97, 144, 163, 229, 238, 299, 341, 466)


def drawn(picture):
    return [(x, y) for y, row in enumerate(picture.split("/"))
            for x, sign in enumerate(row) if sign == "o"]


def turned(places):
    return [(-y, x + y) for x, y in places]


def mirrored(places):
    return [(y, x) for x, y in places]


def cell(x, y):
    """Return the number of a place on the board, None outside."""
    column = x + y // 2
    return y * WIDTH + column if 0 <= y < HEIGHT and 0 <= column < WIDTH else None


def neighbours(number):
    y, column = divmod(number, WIDTH)
    x = column - y // 2
    near = ((x + 1, y), (x, y + 1), (x - 1, y + 1), (x - 1, y), (x, y - 1), (x + 1, y - 1))
    return [found for found in (cell(*place) for place in near) if found is not None]


NEAR = [sum(1 << near for near in neighbours(number)) for number in range(CELLS)]


def positions(places):
    """Return the masks of a piece wherever it can lie, by their lowest cell."""
    masks = set()
    for side in (places, mirrored(places)):
        for _ in range(6):
            side = turned(side)
            for y in range(HEIGHT):
                for x in range(-HEIGHT, WIDTH + HEIGHT):
                    cells = [cell(x + dx, y + dy) for dx, dy in moved(side)]
                    if None not in cells:
                        masks.add(sum(1 << number for number in cells))
    by_cell = [[] for _ in range(CELLS)]
    for mask in sorted(masks):
        if has_whole_holes(mask):
            by_cell[(mask & -mask).bit_length() - 1].append(mask)
    return by_cell


def moved(places):
    """The same with its first place at (0, 0)."""
    first_y, first_x = min((y, x) for x, y in places)
    return [(x - first_x, y - first_y) for x, y in places]


def hole_of(free):
    """Return the cells that hang together with the lowest free one."""
    hole = 0
    edge = free & -free
    while edge:
        hole |= edge
        around = 0
        while edge:
            lowest = edge & -edge
            around |= NEAR[lowest.bit_length() - 1]
            edge ^= lowest
        edge = around & free & ~hole
    return hole


def has_whole_holes(taken):
    """Every hole must take whole pieces."""
    free = ALL & ~taken
    while free:
        hole = hole_of(free)
        if bin(hole).count("1") % 5:
            return False
        free &= ~hole
    return True


def solve(taken, left, pieces, placed):
    """Yield the masks of each way to fill what is free with the pieces that are left."""
    if not left:
        yield placed
        return
    lowest = ~taken & (taken + 1)
    number = lowest.bit_length() - 1
    for piece in left:
        for mask in pieces[piece][number]:
            if not mask & taken and has_whole_holes(taken | mask):
                yield from solve(taken | mask, left - {piece}, pieces, placed + (mask,))


def ways_with(first, pieces):
    """Return how many ways there are with this piece at the first cell."""
    count = 0
    for mask in pieces[first][0]:
        for placed in solve(mask, frozenset(range(len(PIECES))) - {first}, pieces, (mask,)):
            assert len(placed) == len(PIECES) and sum(placed) == ALL
            count += 1
    return count


def main(loops):
    """Return the ways that were found; ten loops find all of them."""
    assert sum(WAYS) == 2098
    pieces = [positions(drawn(picture)) for picture in PIECES]
    count = 0
    for number in range(loops):
        first = number % len(PIECES)
        found = ways_with(first, pieces)
        assert found == WAYS[first], (first, found)
        count += found
    return count


if __name__ == "__main__":
    measured.run(main)
