"""Strangers at the collector's socket: they are answered or sent away, and change nothing."""
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import time

import pytest

MAGIC, MAJOR, NAME_BYTES = 0x434B544D, 1, 3072
STATUS, START, STOP, MARK, SNAPSHOT = 1, 2, 3, 4, 5
DONE, NOT_TRACKED, REFUSED, INCOMPATIBLE, UNDER_WAY, FAILED = range(6)


@pytest.fixture
def running(memtrack):
    """A program under memtrack; (its memtrack run, its capture, its pid, the collector's socket)."""
    before = set(sockets())
    process, capture = memtrack.start(sys.executable, "-c", "import os, sys\n"
                                      "print(os.getpid(), flush=True)\nsys.stdin.read()",
                                      stdin=subprocess.PIPE)
    pid = int(process.stdout.readline())
    [name] = [name for name in set(sockets()) - before if knows(name, pid)]
    yield process, capture, pid, name
    process.communicate(timeout=60)


def sockets():
    return re.findall(r"@(memtrack-[0-9a-f]{32})$", pathlib.Path("/proc/net/unix").read_text(), re.M)


def knows(name, pid):
    """Whether it is the socket of this process's session; others come and go."""
    try:
        return ask(name, request(STATUS, pid)) == DONE
    except OSError:
        return False


def request(command, pid, name=b"", *, magic=MAGIC, major=MAJOR, length=None):
    length = len(name) if length is None else length
    return struct.pack(f"<IHHIIII{NAME_BYTES}s", magic, major, 0, command, pid, 0, length, name)


def ask(name, data):
    """Return the status of the answer, None when there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as end:
        end.settimeout(20)
        end.connect("\0" + name)
        end.send(data)
        answer = end.recv(8192)
    return struct.unpack_from("<I", answer, 8)[0] if answer else None


def test_nonsense_is_refused_and_the_recording_goes_on(running):
    process, capture, pid, name = running
    assert ask(name, request(STATUS, pid)) == DONE
    assert ask(name, request(STATUS, pid, major=2)) == INCOMPATIBLE
    assert ask(name, request(99, pid)) == INCOMPATIBLE
    assert ask(name, request(STATUS, pid)[:20]) == INCOMPATIBLE
    assert ask(name, request(STOP, 1)) == NOT_TRACKED
    assert ask(name, request(STOP, os.getpid())) == NOT_TRACKED
    assert ask(name, request(STOP, 0)) == NOT_TRACKED
    assert ask(name, request(STOP, 0xFFFFFFFF)) == NOT_TRACKED
    assert ask(name, request(STOP, pid, magic=7)) == 1  # taken for a hello, and refused as one
    assert ask(name, b"M") is None
    assert ask(name, request(MARK, pid, b"a\0b", length=0xFFFFFFFF)) == DONE
    process.communicate(timeout=60)
    stats = capture.stats()
    assert stats["capture"]["state"] == "clean" and len(stats["capture"]["recorded"]) == 1
    assert [mark["name"] for mark in stats["marks"]] == ["a?b" + 997 * "?"]


def test_those_who_say_nothing_do_not_keep_others_waiting(running):
    _, _, pid, name = running
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(100)]
    for end in silent:
        end.connect("\0" + name)
    assert ask(name, request(STATUS, pid)) == DONE
    for end in silent:
        end.close()


def test_those_who_wait_for_snapshots_do_not_keep_others_waiting(running, tmp_path):
    process, _, pid, name = running
    waiting = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(100)]
    said = []
    for end in waiting:
        end.connect("\0" + name)
        end.send(request(SNAPSHOT, pid))
    assert ask(name, request(STATUS, pid)) == DONE
    for end in waiting:
        said.append(struct.unpack_from("<I", end.recv(8192), 8)[0])
    assert set(said) <= {UNDER_WAY, FAILED} and said.count(UNDER_WAY) >= 48
    assert ask(name, request(SNAPSHOT, pid, b"here")) == FAILED  # where would that be?
    # As soon as not as many are under way as there may be.
    nowhere = request(SNAPSHOT, pid, b"/" * NAME_BYTES, length=0xFFFFFFFF)
    while ask(name, nowhere) != UNDER_WAY:
        time.sleep(0.05)
    for end in waiting[::2]:
        end.close()
    process.communicate(timeout=60)
    for end in waiting[1::2]:
        end.close()
    assert len(list(tmp_path.glob("*.snapshot-*"))) == said.count(UNDER_WAY)
    assert len(list(tmp_path.iterdir())) == said.count(UNDER_WAY) + 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_user_changes_nothing(running, binary):
    process, capture, pid, name = running
    said = subprocess.run([sys.executable, "-c", f"""
import os, socket
os.setgroups([]); os.setgid(65534); os.setuid(65534)
end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
end.connect("\\0{name}")
end.send({request(STOP, pid)!r})
print(int.from_bytes(end.recv(8192)[8:12], "little"))
"""], check=True, capture_output=True, text=True, timeout=30)
    assert int(said.stdout) == REFUSED
    ended = subprocess.run([binary, "ctl", str(pid), "stop"], user=65534, group=65534,
                           extra_groups=[], capture_output=True, text=True, check=False, timeout=30)
    assert ended.returncode == 3 and "another user's" in ended.stderr
    process.communicate(timeout=60)
    assert len(capture.stats()["capture"]["recorded"]) == 1


def test_a_foreign_socket_of_that_name_is_no_collector(running, binary, tmp_path):
    """Somebody else's socket is passed over, whatever it answers."""
    _, _, pid, _ = running
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as false:
        false.bind("\0memtrack-" + 32 * "0")
        false.listen(1)
        ended = subprocess.Popen([binary, "ctl", str(pid), "status"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        false.settimeout(3)
        try:
            end, _ = false.accept()
            end.recv(8192)
            end.send(b"nonsense")
            end.close()
        except TimeoutError:
            pass  # the true one was asked first
        output, errors = ended.communicate(timeout=30)
    assert (ended.returncode, errors) == (0, "") and output.startswith("recording")
