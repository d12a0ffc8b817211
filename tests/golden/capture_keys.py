"""Blocks by domain and address, where domains share their addresses: malloc's and Python's three.

An interpreter may exchange its allocators at any time, and some programs give free() what they have from
another; so a release is of the block that is there, in whatever domain.
"""
SHARED_DOMAINS = (0, 1, 2, 3)


def live(process, event):
    """The key of the live block that an event releases; None: there is none."""
    domains = [event.domain]
    if event.domain in SHARED_DOMAINS:
        domains += SHARED_DOMAINS
    for domain in domains:
        key = domain, event.address
        if key in process.blocks or key in process.inherited:
            return key
    return None


def is_same(entry, kind, key):
    """Is a release that waits, or is remembered, the one that is taken back?"""
    if entry[0] == kind == "block" and {entry[1][0], key[0]} <= set(SHARED_DOMAINS):
        return entry[1][1] == key[1]
    return entry[:2] == (kind, key)
