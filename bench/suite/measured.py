"""How a program of the suite is run: `NAME.py LOOPS` prints what it found and what it took.

Everything before main() is measured as little as the start of the interpreter.
"""
import sys
import time


def run(main):
    """Call main(LOOPS), which checks itself. Output: a line of its result, a line of seconds."""
    loops = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    began = time.process_time()
    result = main(loops)
    took = time.process_time() - began
    print("result", result)
    print("cpu", took)
