"""n-body: planets around a sun, moved in small steps; arithmetic on floats and nothing else.

A symplectic integrator (kick, then drift) keeps the energy to a small error and the momentum to
rounding: both are checked. The planets are made up: circles, each further out than the last.
"""
import math

import measured

PLANETS = 5
STEPS = 1000
STEP = 0.01
SUN_MASS = 4 * math.pi * math.pi  # with years and the distance of the Earth as units, G is 1


def make_bodies():
    """Return bodies as lists: place, velocity, mass. The sun stands still in their midst."""
    bodies = [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, SUN_MASS]]
    for number in range(1, PLANETS + 1):
        distance = 1.7 ** number
        speed = math.sqrt(SUN_MASS / distance)
        mass = SUN_MASS / (1000.0 * number)
        # A quarter turn from one to the next, and a little out of the plane.
        x, y = ((1, 0), (0, 1), (-1, 0), (0, -1))[number % 4]
        bodies.append([x * distance, y * distance, 0.02 * number,
                       -y * speed, x * speed, 0.01 * speed, mass])
    for axis in (3, 4, 5):
        bodies[0][axis] = -sum(body[axis] * body[6] for body in bodies[1:]) / SUN_MASS
    return bodies


def pairs_of(bodies):
    return [(bodies[i], bodies[j]) for i in range(len(bodies)) for j in range(i)]


def energy(bodies, pairs):
    total = 0.0
    for _, _, _, vx, vy, vz, mass in bodies:
        total += mass * (vx * vx + vy * vy + vz * vz) / 2
    for (ax, ay, az, _, _, _, a_mass), (bx, by, bz, _, _, _, b_mass) in pairs:
        dx, dy, dz = ax - bx, ay - by, az - bz
        total -= a_mass * b_mass / math.sqrt(dx * dx + dy * dy + dz * dz)
    return total


def momentum(bodies):
    return [sum(body[axis] * body[6] for body in bodies) for axis in (3, 4, 5)]


def advance(bodies, pairs, steps):
    for _ in range(steps):
        for a, b in pairs:
            dx = a[0] - b[0]
            dy = a[1] - b[1]
            dz = a[2] - b[2]
            squared = dx * dx + dy * dy + dz * dz
            pull = STEP / (squared * math.sqrt(squared))
            of_a, of_b = a[6] * pull, b[6] * pull
            a[3] -= dx * of_b
            a[4] -= dy * of_b
            a[5] -= dz * of_b
            b[3] += dx * of_a
            b[4] += dy * of_a
            b[5] += dz * of_a
        for body in bodies:
            body[0] += STEP * body[3]
            body[1] += STEP * body[4]
            body[2] += STEP * body[5]


def main(loops):
    """Return the energy at the end, rounded; it has hardly changed from the beginning."""
    bodies = make_bodies()
    pairs = pairs_of(bodies)
    before = energy(bodies, pairs)
    for _ in range(loops):
        advance(bodies, pairs, STEPS)
        after = energy(bodies, pairs)
        assert abs(after / before - 1) < 0.01, (before, after)
        assert max(map(abs, momentum(bodies))) < 1e-9, momentum(bodies)
    return round(after, 6)


if __name__ == "__main__":
    measured.run(main)
