"""The command line itself: help, versions, mistakes."""
import re
import subprocess

import pytest

COMMANDS = ["run", "summary", "table", "tree", "stats", "flamegraph", "timeline", "dump", "info", "help"]


def test_no_command_shows_help_as_an_error(call):
    ended = call()
    assert ended.returncode == 2
    assert ended.stdout == b"" and ended.stderr.startswith(b"usage: memtrack COMMAND")


def test_help_lists_the_commands(call):
    ended = call("--help")
    assert ended.returncode == 0 and ended.stderr == b""
    for command in COMMANDS:
        assert re.search(rf"^  {command}\b", ended.stdout.decode(), re.M), command
    assert b"collect" not in ended.stdout


@pytest.mark.parametrize("command", [*COMMANDS, "report", "parse"])
def test_each_command_has_help(call, command):
    ended = call(command, "--help")
    assert ended.returncode == 0 and ended.stdout.startswith(b"usage: memtrack ")
    assert call("help", command).stdout == ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 100


def test_version(call):
    for option in ("--version", "-V"):
        ended = call(option)
        assert ended.returncode == 0 and re.fullmatch(rb"memtrack \d+\.\d+\.\d+\n", ended.stdout)


@pytest.mark.parametrize("arguments, meant", [
    (["sumary", "x"], "did you mean summary?"),
    (["flame"], "did you mean flamegraph?"),
    (["rnu"], "did you mean run?"),
    (["xyzzy"], "see memtrack --help"),
    (["tree", "--leeks", "x"], "did you mean --leaks?"),
    (["tree", "--xyzzy", "x"], "see memtrack tree --help"),
    (["run", "--ouput=x", "true"], "did you mean --output?"),
    (["run", "-Z", "true"], "unknown option -Z"),
    (["--vresion"], "did you mean --version?"),
    (["help", "sumary"], "did you mean summary?"),
])
def test_a_mistake_names_what_was_perhaps_meant(call, arguments, meant):
    ended = call(*arguments)
    assert ended.returncode == 2 and ended.stdout == b""
    assert meant in ended.stderr.decode()
    assert ended.stderr.startswith(b"memtrack: ") and ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize("arguments, said", [
    (["run"], "nothing to run"),
    (["run", "-o"], "-o needs a value"),
    (["run", "--output"], "--output needs a value"),
    (["run", "--force=1", "true"], "--force takes no value"),
    (["table"], "name one capture"),
    (["table", "a", "b"], "only one capture"),
    (["tree", "--sort=size", "x"], "total|own|count|name"),
    (["tree", "--rows=-1", "x"], "a whole number from 0"),
    (["tree", "--rows=1x", "x"], "a whole number from 0"),
    (["tree", "--rows=99999999999999999999", "x"], "a whole number from 0"),
    (["tree", "--width=1", "x"], "a whole number from 40"),
    (["tree", "--threshold=much", "x"], "much"),
    (["tree", "--color=blue", "x"], "auto|always|never"),
    (["tree", "--leaks", "--allocated", "x"], "use one of them"),
    (["tree", "--leaks", "--at=end", "x"], "use one of them"),
    (["tree", "--at=soon", "x"], "--at=soon: use a time such as 1.5s, 200ms or 1m30s"),
    (["tree", "--at=", "x"], "use a time such as 1.5s"),
    (["tree", "--at=101%", "x"], "a share such as 40%"),
    (["tree", "--at=-1s", "x"], "peak, end or mark:NAME"),
    (["tree", "--at=mark:", "x"], "peak, end or mark:NAME"),
    (["tree", "--range=5s", "x"], "--range=5s: use A:B, each of them a time such as 1.5s"),
    (["tree", "--range=1s:soon", "x"], "use A:B"),
    (["tree", "--range=1s:2s", "--at=1.5s", "x"], "use peak or end together with --range"),
    (["dump", "--at=1s", "x"], "unknown option --at"),
    (["collect"], "not by hand"),
])
def test_wrong_use_says_what_is_right(call, arguments, said):
    ended = call(*arguments)
    assert ended.returncode == 2 and ended.stdout == b""
    assert said in ended.stderr.decode() and ended.stderr.startswith(b"memtrack: ")


def test_names_in_messages_cannot_steer_the_terminal(call):
    ended = call("\x1b[31mred\x07")
    assert ended.returncode == 2
    assert b"\x1b" not in ended.stderr and b"\x07" not in ended.stderr and b"red" in ended.stderr


def test_a_full_disk_is_said(binary):
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([binary, "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == 4 and b"cannot be written" in ended.stderr


@pytest.mark.parametrize("name", ["nosuch.bin", "folder"])
def test_a_capture_that_cannot_be_read(call, tmp_path, name):
    (tmp_path / "folder").mkdir()
    for command in ("summary", "table", "tree", "stats", "timeline", "dump", "info", "flamegraph"):
        ended = call(command, tmp_path / name)
        assert ended.returncode == 3 and ended.stdout == b"", command
        assert ended.stderr.startswith(b"memtrack: ") and name.encode() in ended.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"], "nothing is left behind"


def test_completion_completes(call, tmp_path):
    script = tmp_path / "completion"
    script.write_bytes(call("help", "--format=bash").stdout)

    def complete(*words):
        code = (f"source {script}; COMP_WORDS=({' '.join(words)!s}); COMP_CWORD={len(words) - 1}; "
                "_memtrack; echo ${COMPREPLY[@]}")
        return subprocess.run(["bash", "-c", code], stdout=subprocess.PIPE, check=True,
                              cwd=tmp_path).stdout.decode().split()

    assert complete("memtrack", "fl") == ["flamegraph"]
    assert complete("memtrack", "tree", "--in") == ["--inverted"]
    assert complete("memtrack", "tree", "--sort", "o") == ["own"]
    assert complete("memtrack", "tree", "comp") == ["completion"]
    assert "--follow-fork" in complete("memtrack", "run", "--")
