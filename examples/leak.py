"""A server that forgets nothing: each answer is kept in a cache whose key never comes again.

    memtrack run -o leak.bin examples/leak.py
    memtrack summary --leaks leak.bin

The leak is in remember(); what answer() needs for a moment is not.
"""
import itertools
import os

REQUESTS = 20_000
ANSWER_BYTES = 1000

cache = {}
numbers = itertools.count()


def remember(key, answer):
    cache[key] = answer


def answer(request):
    draft = bytearray(10 * ANSWER_BYTES)
    draft[:4] = request.to_bytes(4, "little")
    return bytes(draft[:ANSWER_BYTES])


def handle(request):
    key = (request, next(numbers))  # the second part makes each key a new one
    if key not in cache:
        remember(key, answer(request))
    return cache[key]


def main():
    for request in range(REQUESTS):
        handle(request % 100)
    print(f"{len(cache)} answers to 100 different requests are kept", flush=True)
    os._exit(0)  # as servers end: Python would release the cache in an orderly end


if __name__ == "__main__":
    main()
