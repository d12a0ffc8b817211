"""Two million random numbers in a list: sorted, transformed, and the primes among them counted.

    memtrack run examples/primes.py

Each step makes something large, so each stands in the report by its own line.
"""
import random

COUNT = 2_000_000
PRIMES_BELOW = 1_000_000


def make_numbers():
    generator = random.Random(1)
    return [generator.random() for _ in range(COUNT)]


def transform(numbers):
    return [number * PRIMES_BELOW for number in numbers]


def sieve(limit):
    """Return a table that says of each number below limit whether it is prime."""
    is_prime = bytearray([1]) * limit
    is_prime[0] = is_prime[1] = 0
    for factor in range(2, int(limit ** 0.5) + 1):
        if is_prime[factor]:
            multiples = range(factor * factor, limit, factor)
            is_prime[factor * factor::factor] = bytes(len(multiples))
    return is_prime


def count_primes(numbers):
    is_prime = sieve(PRIMES_BELOW)
    return sum(is_prime[int(number)] for number in numbers)


def main():
    numbers = make_numbers()
    in_order = sorted(numbers)
    scaled = transform(in_order)
    print(f"{count_primes(scaled)} of {len(scaled)} numbers are prime")


if __name__ == "__main__":
    main()
