"""go: a small board, and a player who plays each game to its end by chance before he moves.

A tree of moves holds how often each has won; the better and the less tried are played first. Chance
is a generator of our own, the same on every version. Liberties kept move by move are compared with
those that are counted from nothing.
"""
import math

import measured

SIZE = 7
POINTS = SIZE * SIZE
BLACK, WHITE, EMPTY = 1, -1, 0
PASS = -1
PLAYOUTS = 12
LONGEST = 2 * POINTS

NEIGHBOURS = [[y * SIZE + x for x, y in ((i % SIZE - 1, i // SIZE), (i % SIZE + 1, i // SIZE),
                                         (i % SIZE, i // SIZE - 1), (i % SIZE, i // SIZE + 1))
               if 0 <= x < SIZE and 0 <= y < SIZE] for i in range(POINTS)]


class Chance:
    """A linear congruential generator; its upper bits are used."""

    def __init__(self, seed):
        self.state = seed

    def below(self, count):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        return (self.state >> 33) % count


class Group:
    """Stones of one colour that touch, and the empty points around them."""
    __slots__ = ("colour", "stones", "liberties")

    def __init__(self, colour, stones, liberties):
        self.colour, self.stones, self.liberties = colour, stones, liberties


class Board:
    def __init__(self):
        self.groups = [None] * POINTS  # of the stone at each point
        self.ko = None
        self.captured = {BLACK: 0, WHITE: 0}

    def copy(self):
        other = Board()
        made = {}
        for point, group in enumerate(self.groups):
            if group is not None:
                if id(group) not in made:
                    made[id(group)] = Group(group.colour, set(group.stones), set(group.liberties))
                other.groups[point] = made[id(group)]
        other.ko = self.ko
        other.captured = dict(self.captured)
        return other

    def is_legal(self, point, colour):
        if self.groups[point] is not None or point == self.ko:
            return False
        for near in NEIGHBOURS[point]:
            group = self.groups[near]
            if group is None or (group.colour == colour) == (len(group.liberties) > 1):
                return True
        return False

    def is_eye(self, point, colour):
        """A point that no sensible player fills: his own stones are all around."""
        return all(self.groups[near] is not None and self.groups[near].colour == colour
                   for near in NEIGHBOURS[point])

    def play(self, point, colour):
        self.ko = None
        if point == PASS:
            return
        mine = Group(colour, {point}, {near for near in NEIGHBOURS[point]
                                       if self.groups[near] is None})
        self.groups[point] = mine
        taken = []
        for near in NEIGHBOURS[point]:
            group = self.groups[near]
            if group is None or group is mine:
                continue
            group.liberties.discard(point)
            if group.colour == colour:
                mine.stones |= group.stones
                mine.liberties |= group.liberties
                for stone in group.stones:
                    self.groups[stone] = mine
            elif not group.liberties:
                taken.extend(self.remove(group))
        self.captured[colour] += len(taken)
        if len(taken) == 1 and len(mine.stones) == 1 and len(mine.liberties) == 1:
            self.ko = taken[0]

    def remove(self, group):
        for stone in group.stones:
            self.groups[stone] = None
        for stone in group.stones:
            for near in NEIGHBOURS[stone]:
                if self.groups[near] is not None:
                    self.groups[near].liberties.add(stone)
        return group.stones

    def moves(self, colour):
        return [point for point in range(POINTS)
                if self.is_legal(point, colour) and not self.is_eye(point, colour)]

    def black_points(self):
        """Stones and eyes of Black, less those of White."""
        total = 0
        for point, group in enumerate(self.groups):
            if group is not None:
                total += group.colour
            else:
                total += self.is_eye(point, BLACK) - self.is_eye(point, WHITE)
        return total

    def check(self):
        """Compare groups and liberties with those that the stones alone give."""
        for point, group in enumerate(self.groups):
            if group is None:
                continue
            seen, waiting, liberties = {point}, [point], set()
            while waiting:
                for near in NEIGHBOURS[waiting.pop()]:
                    other = self.groups[near]
                    if other is None:
                        liberties.add(near)
                    elif other.colour == group.colour and near not in seen:
                        seen.add(near)
                        waiting.append(near)
            assert seen == group.stones and liberties == group.liberties != set()


class Node:
    """A move in the tree, and what came of it for the one who made it."""

    def __init__(self, move, colour, board):
        self.move, self.colour = move, colour
        self.untried = board.moves(-colour) or [PASS]
        self.children = []
        self.wins = self.visits = 0

    def worth(self, all_visits):
        return self.wins / self.visits + math.sqrt(math.log(all_visits) / self.visits)

    def best(self):
        return max(self.children, key=lambda child: child.worth(self.visits))


def play_out(board, colour, chance):
    """Play to the end by chance. Returns who has won."""
    passes = 0
    for _ in range(LONGEST):
        moves = board.moves(colour)
        passes = 0 if moves else passes + 1
        if passes == 2:
            break
        board.play(moves[chance.below(len(moves))] if moves else PASS, colour)
        colour = -colour
    return BLACK if board.black_points() > 0 else WHITE


def think(board, colour, chance):
    """Return the move that was tried most."""
    root = Node(PASS, -colour, board)
    for _ in range(PLAYOUTS):
        trial, path = board.copy(), [root]
        while not path[-1].untried and path[-1].children:
            path.append(path[-1].best())
            trial.play(path[-1].move, path[-1].colour)
        last = path[-1]
        move = last.untried.pop(chance.below(len(last.untried)))
        trial.play(move, -last.colour)
        path.append(Node(move, -last.colour, trial))
        last.children.append(path[-1])
        winner = play_out(trial, last.colour, chance)
        for node in path:
            node.visits += 1
            node.wins += node.colour == winner
        trial.check()
    assert root.visits == PLAYOUTS == sum(child.visits for child in root.children)
    return max(root.children, key=lambda child: (child.visits, child.wins, child.move)).move


def main(loops):
    """Play one move a loop, game after game. Returns a number that tells all of them."""
    chance, tells, passes = Chance(7), 0, 2
    for _ in range(loops):
        if passes == 2:
            board, colour, stones, passes = Board(), BLACK, 0, 0
        move = think(board, colour, chance)
        assert move == PASS or board.is_legal(move, colour)
        board.play(move, colour)
        board.check()
        passes = passes + 1 if move == PASS else 0
        stones += move != PASS
        on_board = sum(group is not None for group in board.groups)
        assert stones == on_board + sum(board.captured.values())
        tells = (tells * 53 + move) % 1_000_003
        colour = -colour
    return tells


if __name__ == "__main__":
    measured.run(main)
