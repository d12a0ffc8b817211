"""What a block of a sample stands for: docs/sampling.md, and reporters/profile/estimate.c bit by bit."""

MAPS, POOL = range(16, 21), 127  # allocators: these, and pools from there on, are recorded whole


UNIT_OF_LEVELS = 1 << 14
LEVELS = 8  # a stack's class: a class, or this and a level


def level_mean(level):
    """Mean bytes between two picks at a level."""
    return 32 << level


def level_of(capture, stack):
    """The level that a stack's blocks were picked at; 0: there was no chance in it."""
    return max(capture.stacks[stack][3] - LEVELS, 0) if stack else 0


def whole(stack):
    """A stack without its level."""
    return (*stack[:3], stack[3] if stack[3] < LEVELS else 0)


def estimate(mean, size, ordinal, allocator, unit=None):
    """(bytes, blocks, variance in units of unit^2 / 2^20) of a block; mean 0: of no sample.
    unit: of variances; the mean when there is none."""
    if allocator in MAPS or allocator >= POOL or not 0 < size < mean:
        return size, 1, 0
    x, series = size / mean, 1.0
    for i in range(22, 1, -1):
        series = 1.0 - x / i * series
    chance = x * series
    rounding = (ordinal * 2654435769) % 2**32 / 2.0**32
    part = size / (unit or mean) / chance
    return (int(size * (1.0 / chance) + 0.5), int(1.0 / chance + rounding),
            int((1.0 - chance) * part * part * 2**20 + 0.5))
