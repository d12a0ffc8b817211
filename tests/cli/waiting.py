"""Waiting for what another process does."""
import time


def wait_until(condition, what, timeout_s=20):
    """Wait until the condition holds; fail when it does not."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.01)
