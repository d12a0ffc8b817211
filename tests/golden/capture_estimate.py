"""What a block of a sample stands for: docs/sampling.md, and reporters/profile/estimate.c bit by bit."""

MAPS, POOL = range(16, 21), 127  # allocators: these, and pools from there on, are recorded whole


def estimate(mean, size, ordinal, allocator):
    """(bytes, blocks, variance in units of mean^2 / 2^20) of a block; mean 0: of no sample."""
    if allocator in MAPS or allocator >= POOL or not 0 < size < mean:
        return size, 1, 0
    x, series = size / mean, 1.0
    for i in range(22, 1, -1):
        series = 1.0 - x / i * series
    chance = x * series
    rounding = (ordinal * 2654435769) % 2**32 / 2.0**32
    part = size / mean / chance
    return (int(size * (1.0 / chance) + 0.5), int(1.0 / chance + rounding),
            int((1.0 - chance) * part * part * 2**20 + 0.5))
