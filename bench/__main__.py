"""python3 bench --build BUILD: measure, and print a Markdown table. See docs/benchmarks.md."""
import argparse
import functools
import pathlib
import sys
import tempfile

import figures
import measure
import native
import servers
import stored
import streams
import suites
import symbols
import tools

SECTIONS = {**figures.SECTIONS, "native": native.native, "suite": suites.suite, "streams": streams.streams,
            "servers": servers.servers, "stored": stored.stored, "symbols": symbols.symbols}
HEAD = ("figure", "plain", "memtrack", "at most", "holds", "whole tree", "memray", "heaptrack")


def print_row(row):
    holds = {None: "", True: "yes", False: "**no**"}[row.holds]
    print("| " + " | ".join((row.figure, row.plain, row.memtrack, row.most, holds, row.tree,
                             row.memray, row.heaptrack)) + " |", flush=True)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a release build")
    parser.add_argument("--rounds", type=int, default=7, help="of each figure; medians are taken")
    parser.add_argument("--share", type=float, default=1.0, help="of the full sizes")
    parser.add_argument("--only", action="append", choices=SECTIONS)
    parser.add_argument("--python", action="append", help="an interpreter; several are allowed")
    parser.add_argument("--cache", type=pathlib.Path, help="where memray is installed and kept")
    parser.add_argument("--alone", action="store_true", help="without the other profilers")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    build = options.build.resolve()
    measure.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="memtrack-bench-") as name:
        folder = pathlib.Path(name)
        cache = options.cache or build / "bench-packages"

        @functools.lru_cache(maxsize=None)
        def memray_of(python):
            return None if options.alone else tools.memray_for(python, folder, cache)

        setting = figures.Setting(
            tools.Memtrack("memtrack", folder / "memtrack.bin", str(build / "cli" / "memtrack")),
            str(build / "bench" / "bench_loops"),
            None if options.alone else tools.heaptrack(folder), memray_of,
            options.python or ["/usr/bin/python3"], folder, options.rounds, options.share)
        print(f"{tools.machine()}; medians of {options.rounds} interleaved rounds\n")
        print("| " + " | ".join(HEAD) + " |")
        print("|---" * len(HEAD) + "|", flush=True)
        missed = 0
        for section in options.only or SECTIONS:
            for row in SECTIONS[section](setting):
                missed += row.holds is False
                print_row(row)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
