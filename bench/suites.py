"""Nine programs of suite/: what they cost under each tool, and the mean of it.

They are of the kind that interpreters are measured with: calls and small objects, hardly a block of
malloc. Each checks its own result.
"""
import dataclasses
import pathlib
import statistics

import figures
import measure
import tools

FOLDER = pathlib.Path(__file__).resolve().parent / "suite"
ALLOCATORS = "--trace-python-allocators"  # memray calls it the same
MOST = {"": 1.04, "Python allocators": 1.3}  # of the geometric mean

# Loops that take a second or so.
PROGRAMS = {"deltablue": 300, "raytrace": 70, "nbody": 200, "go": 60, "queens": 200, "spectral": 30,
            "json_texts": 70, "meteor": 4, "async_tree": 40}


def path_of(name):
    return FOLDER / f"{name}.py"


def _variants(setting, python):
    """Return the tools besides plain and memtrack: each once more with Python's allocators."""
    memray = setting.memray_of(python)
    variants = [setting.memtrack.having("memtrack, Python allocators", ALLOCATORS)]
    if memray:
        variants += [memray, dataclasses.replace(memray, name="memray, Python allocators",
                                                 options=(ALLOCATORS,))]
    return variants


def _named(tool, kind):
    return f"{tool}, {kind}" if kind else tool


def suite(setting):
    """Ratios of each program, then their geometric means, which alone are promised."""
    for python in setting.pythons:
        version = ".".join(map(str, tools.python_facts(python)[0]))
        ratios = {}
        for name, loops in PROGRAMS.items():
            argv = [python, str(path_of(name)), str(max(1, round(loops * setting.share)))]
            samples = measure.in_turns(
                figures.under_tools(setting, _variants(setting, python), argv), setting.rounds)
            for tool in samples:
                ratios.setdefault(tool, []).append(figures.ratio_of(samples, tool))
            plain = f"{measure.median(samples['plain'], 'program_cpu'):.2f} s"
            for kind in MOST:
                ours, theirs = _named("memtrack", kind), _named("memray", kind)
                tree = figures.ratio_of(samples, ours, "tree_cpu")
                yield figures.Row(_named(f"{name}, Python {version}", kind), plain,
                                  figures.as_times(ratios[ours][-1]), tree=figures.as_times(tree),
                                  memray=figures.as_times(figures.ratio_of(samples, theirs)))
        for kind, most in MOST.items():
            mean = {tool: statistics.geometric_mean(row) for tool, row in ratios.items()}
            ours = mean[_named("memtrack", kind)]
            name = f"geometric mean of {len(PROGRAMS)}, Python {version}"
            yield figures.Row(_named(name, kind), "", figures.as_times(ours), f"{most}",
                              round(ours, 2) <= most,
                              memray=figures.as_times(mean.get(_named("memray", kind))))
