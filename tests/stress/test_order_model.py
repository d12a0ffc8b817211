"""The page-tag scheme holds in every interleaving, and the search sees it when it does not."""
import dataclasses

import pytest

import order_model


@pytest.mark.parametrize("programs, holders", order_model.QUICK,
                         ids=[" ".join(programs) for programs, _ in order_model.QUICK])
def test_no_interleaving_breaks_the_order(programs, holders):
    for owner in order_model.first_owners(programs):
        outcome = order_model.search(programs, holders, owner)
        assert outcome.ends > 0
        assert outcome.violations == 0, outcome.example


def test_all_interleavings_of_the_long_programs(is_full):
    if not is_full:
        pytest.skip("minutes: with --full only")
    assert order_model.main(["--full"]) == 0


@pytest.mark.parametrize("broken", [{"looks_again": False}, {"takes_before_segment": False}],
                         ids=["no second look", "segment before the tag"])
def test_a_broken_scheme_is_seen(broken):
    rules = dataclasses.replace(order_model.Rules(), **broken)
    violations = 0
    for programs, holders in order_model.QUICK:
        for owner in order_model.first_owners(programs):
            violations += order_model.search(programs, holders, owner, rules).violations
    assert violations > 0
