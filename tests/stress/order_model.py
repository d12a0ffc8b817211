"""Every interleaving of the page-tag scheme, for small programs: an explicit-state search.

The rules are those of lib/record/order.c, one step here for each access to shared memory there: the
load of order_check(), then take(): the exchange from NONE, up to TAKE_ROUNDS times exchange of what
was seen, step of the counter, second look; SHARED; the step of the counter behind it. All addresses
lie in one bucket, the worst case. Memory is sequentially consistent here; what weaker memory adds is
the argument at the top of order.c.

A thread's program is a string: `m` allocates any free address, `f` releases any it holds, `s` takes
an address over from another thread. `search()` goes through all interleavings and replays each
outcome as the reader does: by segment, inside one as written.
"""
import dataclasses
import sys

NONE, SHARED, BUSY_FROM = 0, -1, 100  # owner tags; holders from BUSY_FROM on are being allocated
TAKE_ROUNDS = 3


@dataclasses.dataclass(frozen=True)
class Rules:
    """The scheme, and ways to break it (for tests of this search)."""
    looks_again: bool = True
    takes_before_segment: bool = True
    take_rounds: int = TAKE_ROUNDS


@dataclasses.dataclass
class Outcome:
    states: int = 0
    ends: int = 0
    violations: int = 0
    example: tuple = ()


# A thread: (operation index, step, event or None, segment, tag seen, round)
def _first_threads(count):
    return tuple((0, "begin", None, number + 1, NONE, 0) for number in range(count))


def _begin(operation, me, threads, holders):
    """Yield (event or None, holders) for each way to begin an operation."""
    in_release = {thread[2][1] for thread in threads if thread[2] and thread[2][0] == "F"}
    for address, holder in enumerate(holders):
        changed = list(holders)
        if operation == "f" and holder == me:
            yield ("F", address), holders
        elif operation == "m" and holder is None:
            changed[address] = BUSY_FROM + me
            yield ("A", address), tuple(changed)
        elif operation == "s" and holder not in (None, me) and holder < BUSY_FROM \
                and address not in in_release:
            changed[address] = me
            yield None, tuple(changed)


def _check(rules, me, thread, owner, counter):
    """Make one step of check and take. Return (thread, owner, counter)."""
    index, step, event, segment, seen, rounds = thread
    tag = me + 1
    if step == "check":
        if owner == tag:
            return (index, "write", event, segment, seen, 0), owner, counter
        return (index, "first", event, segment, seen, 0), owner, counter
    if step == "first":
        if owner == NONE:
            return (index, "write", event, segment, NONE, 0), tag, counter
        return (index, "round", event, segment, owner, 0), owner, counter
    if step == "round":
        if rounds == rules.take_rounds or seen == SHARED:
            following = "begin shared" if seen == SHARED else "make shared"
            return (index, following, event, segment, seen, 0), owner, counter
        if not rules.takes_before_segment:
            return (index, "late take", event, counter, seen, rounds), owner, counter + 1
        if owner != seen:
            return (index, "round", event, segment, owner, rounds + 1), owner, counter
        return (index, "segment", event, segment, seen, rounds), tag, counter
    if step == "late take":
        return (index, "write", event, segment, seen, 0), tag, counter
    if step == "segment":
        following = "look" if rules.looks_again else "write"
        return (index, following, event, counter, seen, rounds), owner, counter + 1
    if step == "look":
        if owner == tag:
            return (index, "write", event, segment, owner, 0), owner, counter
        return (index, "round", event, segment, owner, rounds + 1), owner, counter
    if step == "make shared":
        return (index, "begin shared", event, segment, seen, 0), SHARED, counter
    assert step == "begin shared", step
    return (index, "write", event, counter, seen, 0), owner, counter + 1


def _successors(rules, programs, state):
    """Yield every state that one step of one thread leads to."""
    threads, holders, owner, counter, logs = state
    for me, thread in enumerate(threads):
        index, step, event, segment, seen, rounds = thread
        if index == len(programs[me]):
            continue
        found = []
        if step == "begin":
            for begun, changed in _begin(programs[me][index], me, threads, holders):
                following = (index, "check", begun, segment, seen, 0) if begun else \
                    (index + 1, "begin", None, segment, seen, 0)
                found.append((following, changed, owner, counter, logs))
        elif step == "write":
            written = logs[:me] + (logs[me] + ((segment, *event),),) + logs[me + 1:]
            if event[0] == "A":
                changed = holders[:event[1]] + (me,) + holders[event[1] + 1:]
                following = (index + 1, "begin", None, segment, seen, 0)
            else:
                changed, following = holders, (index, "release", event, segment, seen, 0)
            found.append((following, changed, owner, counter, written))
        elif step == "release":
            changed = holders[:event[1]] + (None,) + holders[event[1] + 1:]
            found.append(((index + 1, "begin", None, segment, seen, 0), changed, owner, counter,
                          logs))
        else:
            following, new_owner, new_counter = _check(rules, me, thread, owner, counter)
            found.append((following, holders, new_owner, new_counter, logs))
        for following, changed, new_owner, new_counter, written in found:
            yield (threads[:me] + (following,) + threads[me + 1:], changed, new_owner, new_counter,
                   written)


def _is_in_order(first_holders, holders, logs):
    """Replay the logs as the reader does: releases and allocations must alternate."""
    live = [holder is not None for holder in first_holders]
    events = sorted((segment, thread, place, kind, address)
                    for thread, log in enumerate(logs)
                    for place, (segment, kind, address) in enumerate(log))
    for _, _, _, kind, address in events:
        if live[address] == (kind == "A"):
            return False
        live[address] = kind == "A"
    return live == [holder is not None for holder in holders]


def search(programs, holders, owner=NONE, rules=Rules(), most_states=2_000_000):
    """Go through all interleavings. Returns Outcome; raises when there are too many."""
    first = (_first_threads(len(programs)), tuple(holders), owner, len(programs) + 1,
             tuple(() for _ in programs))
    outcome, seen, waiting = Outcome(), {first}, [first]
    while waiting:
        state = waiting.pop()
        is_end = True
        for following in _successors(rules, programs, state):
            is_end = False
            if following not in seen:
                seen.add(following)
                waiting.append(following)
        if is_end:
            outcome.ends += 1
            if not _is_in_order(holders, state[1], state[4]):
                outcome.violations += 1
                outcome.example = outcome.example or state[4]
        if len(seen) > most_states:
            raise RuntimeError(f"more than {most_states} states")
    outcome.states = len(seen)
    return outcome


# Programs and who holds which address at the start (None: nobody).
QUICK = [
    (["f", "fm"], [0, 1]),
    (["fm", "mf"], [0, None]),
    (["fmf", "sfm"], [0, 1]),
    (["fm", "mfm"], [0, None]),
    (["fs", "mf"], [0, 0, None]),
    (["f", "m", "s"], [0, None]),
]
FULL = QUICK + [
    (["fmf", "sfmf"], [0, 1]),
    (["fm", "mfm", "sf"], [0, None]),
    (["fsm", "mfs"], [0, 0, None]),
    (["fmfm", "sfmf"], [0, 1]),
    (["fms", "fmf"], [0, 1]),
]


def first_owners(programs):
    """Return what the bucket may say at the start: nobody, each thread, one that is gone, all."""
    return (NONE, *range(1, len(programs) + 1), len(programs) + 1, SHARED)


def main(arguments):
    """Search all programs with every owner at the start, and say what was found."""
    violations = 0
    for programs, holders in FULL if "--full" in arguments else QUICK:
        for owner in first_owners(programs):
            outcome = search(programs, holders, owner, most_states=100_000_000)
            violations += outcome.violations
            print(f"{' '.join(programs)}, owner {owner}: {outcome.states} states, "
                  f"{outcome.ends} ends, {outcome.violations} violations", flush=True)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
