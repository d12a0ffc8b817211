"""The walker in every interpreter we have: checks/*.py run there, with the probe preloaded.

A check script compares what the walker says with what the interpreter says of itself, and prints
what it has compared as one line of JSON. Nothing may be wrong, and no check may be missing.
"""
import pytest


def test_every_way_to_a_line_gives_the_stack_of_traceback(walked):
    result = walked.check("cases.py")
    assert result["passed"] >= 1400
    assert result["names_lost"] == 0
    if result["skipped"]:
        pytest.skip("but for " + "; ".join(result["skipped"]))


def test_random_programs_give_the_stack_of_the_frame_objects(walked, is_full):
    rounds, least = (70, 50000) if is_full else (24, 15000)
    for seed in range(1, 6 if is_full else 2):
        assert walked.check("random_programs.py", seed, rounds)["passed"] >= least


def test_the_stack_is_right_whatever_else_is_walked_between(walked, is_full):
    """Each allocation of the interpreter is walked, at every point where there is one."""
    more = {} if walked.is_free_threaded else {"PYTHONMALLOC": "malloc"}
    rounds, least = (80, 50000) if is_full else (8, 5000)
    result = walked.check("random_programs.py", 5, rounds, PROBE_EVERY="1", **more)
    assert result["passed"] >= least
    assert result["walks"] >= (5000 if walked.is_free_threaded else 20 * least)


@pytest.mark.parametrize("jit", ["0", "1"])
def test_the_stack_is_right_in_compiled_code(walked, is_full, jit):
    if walked.name not in ("3.14", "3.15"):
        pytest.skip("no compiler in it")
    walked.check("random_programs.py", 3, 70 if is_full else 24, PYTHON_JIT=jit)


def test_code_at_an_address_that_was_used_before_has_its_own_name(walked):
    count = 2000 if walked.is_debug else 20000
    assert walked.check("released_code.py", count)["passed"] > 1.5 * count


def test_deep_stacks_are_right_healed_or_cut(walked):
    walked.check("deep_stacks.py")


def test_deep_stacks_of_greenlets_are_right(walked):
    if walked.start("-c", "import greenlet").returncode != 0:
        pytest.skip("no greenlet for it")
    assert walked.check("deep_greenlets.py")["passed"] == 6


def test_an_unchanged_stack_is_seen_at_once(walked):
    assert walked.check("unchanged.py")["passed"] >= 2


def test_activations_are_marked_where_they_begin(walked):
    walked.check("entries.py")


def test_names_are_announced_whole_and_once(walked):
    walked.check("names.py")


TESTS_OF_PYTHON = ["json", "re", "functools", "collections", "generators", "dict", "list", "set",
                   "itertools", "copy", "enum", "dataclasses", "typing", "coroutines", "asyncgen",
                   "contextlib", "heapq", "statistics", "textwrap", "configparser", "string"]


def test_blocks_have_the_stacks_that_tracemalloc_has(walked, is_full):
    if walked.is_free_threaded:
        pytest.skip("its objects are not blocks of malloc")
    if walked.is_debug:
        pytest.skip("tracemalloc takes minutes in it")
    result = walked.check("traced_blocks.py", PROBE_BLOCKS="512")
    assert result["passed"] >= 1300
    assert result["begun"] == 0  # nothing of ours collects garbage in a call
    for name in TESTS_OF_PYTHON if is_full else ():  # in turn: all in one process take half an hour
        result = walked.check("traced_blocks.py", f"test.test_{name}", PROBE_BLOCKS="512",
                              timeout=1800)
        assert result["passed"] >= 1300
