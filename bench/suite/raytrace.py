"""Raytrace: spheres that mirror each other above a chessboard, one object for each point and ray.

The picture is checked where geometry says what must be seen, and by the sum of all its colours: the
arithmetic is that of IEEE numbers, the same everywhere.
"""
import math

import measured

WIDTH, HEIGHT = 32, 24
DEEPEST = 4
SMALLEST = 1e-6
SUM_OF_PICTURE = 281140


class Vector:
    __slots__ = ("x", "y", "z")

    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def scaled(self, factor):
        return Vector(self.x * factor, self.y * factor, self.z * factor)

    def dot(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    def unit(self):
        return self.scaled(1.0 / math.sqrt(self.dot(self)))

    def mirrored_at(self, normal):
        return self - normal.scaled(2.0 * self.dot(normal))


class Ray:
    def __init__(self, origin, direction):
        self.origin = origin
        self.direction = direction.unit()

    def at(self, distance):
        return self.origin + self.direction.scaled(distance)


class Sphere:
    def __init__(self, centre, radius, colour, mirror):
        self.centre, self.radius = centre, radius
        self.colour, self.mirror = colour, mirror

    def distance(self, ray):
        """Return how far the ray goes to it, None when it passes by."""
        to_centre = self.centre - ray.origin
        along = to_centre.dot(ray.direction)
        inside = self.radius * self.radius - to_centre.dot(to_centre) + along * along
        if inside < 0.0:
            return None
        half = math.sqrt(inside)
        for distance in (along - half, along + half):
            if distance > SMALLEST:
                return distance
        return None

    def normal(self, point):
        return (point - self.centre).scaled(1.0 / self.radius)

    def colour_at(self, point):
        return self.colour


class Board:
    """The level y = 0, in squares of two colours."""
    mirror = 0.1

    def __init__(self, colours):
        self.colours = colours

    def distance(self, ray):
        if ray.direction.y > -SMALLEST:
            return None
        return -ray.origin.y / ray.direction.y

    def normal(self, point):
        return Vector(0.0, 1.0, 0.0)

    def colour_at(self, point):
        return self.colours[(math.floor(point.x) + math.floor(point.z)) % 2]


class Scene:
    def __init__(self, things, lamps, sky):
        self.things, self.lamps, self.sky = things, lamps, sky

    def nearest(self, ray):
        """Return (distance, thing) of what a ray meets first, or None."""
        met = None
        for thing in self.things:
            distance = thing.distance(ray)
            if distance is not None and (met is None or distance < met[0]):
                met = distance, thing
        return met

    def light_at(self, point, normal):
        light = 0.15
        for lamp in self.lamps:
            to_lamp = lamp - point
            ray = Ray(point + normal.scaled(SMALLEST * 10), to_lamp)
            met = self.nearest(ray)
            if met is None or met[0] * met[0] > to_lamp.dot(to_lamp):
                light += max(0.0, normal.dot(ray.direction)) * 0.6
        return light

    def colour_of(self, ray, depth=0):
        met = self.nearest(ray)
        if met is None:
            return self.sky
        distance, thing = met
        point = ray.at(distance)
        normal = thing.normal(point)
        colour = thing.colour_at(point).scaled(self.light_at(point, normal))
        if depth < DEEPEST and thing.mirror > 0.0:
            back = Ray(point + normal.scaled(SMALLEST * 10), ray.direction.mirrored_at(normal))
            seen = self.colour_of(back, depth + 1)
            colour = colour.scaled(1.0 - thing.mirror) + seen.scaled(thing.mirror)
        return colour


def make_scene():
    spheres = [Sphere(Vector(-2.0 + 1.3 * i, 0.6 + 0.1 * i, 1.0 + i % 2), 0.6 + 0.1 * i,
                      Vector(0.9 - 0.2 * i, 0.3 + 0.1 * i, 0.2 + 0.2 * i), 0.2 + 0.1 * i)
               for i in range(4)]
    board = Board((Vector(0.9, 0.9, 0.9), Vector(0.1, 0.1, 0.1)))
    lamps = [Vector(-4.0, 6.0, -5.0), Vector(5.0, 8.0, -2.0)]
    return Scene(spheres + [board], lamps, Vector(0.3, 0.5, 0.8))


def picture(scene):
    """Return rows of (red, green, blue), each from 0 to 255."""
    eye = Vector(0.0, 1.5, -6.0)
    rows = []
    for y in range(HEIGHT):
        row = []
        for x in range(WIDTH):
            aim = Vector((x - WIDTH / 2) / WIDTH, (HEIGHT / 2 - y) / WIDTH, 1.0)
            colour = scene.colour_of(Ray(eye, aim))
            row.append(tuple(int(255 * min(1.0, part)) for part in (colour.x, colour.y, colour.z)))
        rows.append(row)
    return rows


def main(loops):
    """Return the sum of all colours of the last picture."""
    scene = make_scene()
    for _ in range(loops):
        rows = picture(scene)
        assert rows[0][0] == rows[0][-1] == (76, 127, 204), "the sky is above"
        assert len({colour for colour in rows[-1]}) > 10, "board and mirrors are below"
        total = sum(sum(colour) for row in rows for colour in row)
        assert total == SUM_OF_PICTURE, total
    return total


if __name__ == "__main__":
    measured.run(main)
