"""Async tree: tasks that start tasks and wait for them all, down to leaves of four kinds.

A leaf returns at once, lets the others go first, looks up what another has computed, or computes.
Every node counts its leaves, so the root must have them all.
"""
import asyncio

import measured

BRANCHES = 5
LEVELS = 4
NUMBERS = 60


class Tree:
    """One tree and what its leaves have found. kind: a method that a leaf awaits."""

    def __init__(self, kind):
        self.leaf = getattr(self, kind)
        self.known = {}
        self.computed = 0

    async def nothing(self, number):
        return 1

    async def yielding(self, number):
        await asyncio.sleep(0)
        return 1

    async def looking_up(self, number):
        key = number % NUMBERS
        if key not in self.known:
            self.known[key] = asyncio.ensure_future(self.computing(key))
        return await self.known[key]

    async def computing(self, number):
        self.computed += 1
        total = sum(i * number for i in range(NUMBERS))
        return 1 if total == number * NUMBERS * (NUMBERS - 1) // 2 else 0

    async def node(self, level, number):
        """Return the leaves under a node. number: its own among those of its level."""
        if level == 0:
            return await self.leaf(number)
        children = [self.node(level - 1, number * BRANCHES + i) for i in range(BRANCHES)]
        return sum(await asyncio.gather(*children))


KINDS = {"nothing": 0, "yielding": 0, "looking_up": NUMBERS, "computing": BRANCHES ** LEVELS}


async def grow():
    """Grow a tree of each kind; return their leaves."""
    leaves = 0
    for kind, computed in KINDS.items():
        tree = Tree(kind)
        count = await tree.node(LEVELS, 0)
        assert count == BRANCHES ** LEVELS, (kind, count)
        assert tree.computed == computed, (kind, tree.computed)
        leaves += count
    return leaves


def main(loops):
    """Return the leaves of all trees."""
    return sum(asyncio.run(grow()) for _ in range(loops))


if __name__ == "__main__":
    measured.run(main)
