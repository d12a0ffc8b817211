"""A program under `memtrack run` behaves as it does without."""
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from waiting import wait_until

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def script(tmp_path):
    """Write an executable file into the test's folder."""
    def write(name, text, mode=0o755):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        path.chmod(mode)
        return path

    return write


@pytest.mark.parametrize("how", ["0", "1", "7", "255", "exit", "term", "segv", "abort", "kill"])
def test_ends_as_the_program_ends(call, programs, how):
    plain = subprocess.run([programs("cli_ends"), how], check=False)
    tracked = call("run", "-o", "out.bin", programs("cli_ends"), how)
    assert tracked.returncode == plain.returncode
    assert tracked.stdout == b""
    assert tracked.stderr == b"memtrack: wrote out.bin; try: memtrack flamegraph out.bin\n"


def test_the_name_of_a_capture(call, programs, tmp_path):
    ended = call("run", programs("cli_ends"))
    name = next(tmp_path.iterdir()).name
    assert name.startswith("memtrack-cli_ends.") and name.endswith(".bin")
    assert int(name.split(".")[1]) > 0 and name.encode() in ended.stderr


def test_a_name_with_the_process_id(call, python, tmp_path):
    ended = call("run", "-o", "x-%p-%%.bin", python, "-c", "import os; print(os.getpid())")
    assert (tmp_path / f"x-{int(ended.stdout)}-%.bin").exists()


def test_quiet_says_nothing(call, programs):
    ended = call("run", "-q", "-o", "out.bin", programs("cli_ends"))
    assert ended.stdout == ended.stderr == b""


def test_a_strange_name_can_be_pasted(call, programs):
    ended = call("run", "-o", "it's here.bin", programs("cli_ends"))
    assert b"memtrack flamegraph 'it'\\''s here.bin'" in ended.stderr


def test_standard_streams_pass_untouched(call, python, tmp_path):
    everything = bytes(range(256)) * 4096
    copy = ("import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer);"
            "sys.stderr.buffer.write(bytes(range(256)))")
    with open(tmp_path / "in", "w+b") as given:
        given.write(everything)
        given.seek(0)
        ended = call("run", "-q", "-o", "out.bin", python, "-c", copy, stdin=given)
    assert ended.stdout == everything and ended.stderr == bytes(range(256))


def test_standard_input_from_a_pipe(binary, tmp_path):
    ended = subprocess.run([binary, "run", "-q", "-o", tmp_path / "out.bin", "cat"], input=b"abc",
                           stdout=subprocess.PIPE, check=False, timeout=60)
    assert ended.stdout == b"abc" and ended.returncode == 0


def test_closed_standard_streams_stay_closed(binary, tmp_path):
    show = "import os; print([os.path.exists(f'/proc/self/fd/{n}') for n in (0, 1)], file=open('o', 'w'))"
    command = f"{binary} run -q -o out.bin {sys.executable} -c \"{show}\" <&- >&-"
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False).returncode == 0
    assert (tmp_path / "o").read_text() == "[False, False]\n"


SHOW = """
import json, os, resource, signal, sys
print(json.dumps({
    "environment": [f"{name}={value}" for name, value in os.environ.items()],
    "directory": os.getcwd(),
    "arguments": sys.argv,
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "blocked": [int(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
    "ignored": [n for n in range(1, 32)
                if n not in (9, 19) and signal.getsignal(n) == signal.SIG_IGN],
    "group": os.getpgrp() == os.getpgid(os.getppid()),
    "limits": [resource.getrlimit(n) for n in range(16)],
    "umask": os.umask(0),
    "nice": os.nice(0),
}))
"""


def test_the_program_sees_two_variables_and_nothing_else(binary, script, tmp_path):
    show = script("show.py", SHOW)
    environment = {**os.environ, "MARK": "1", "LD_PRELOAD": ""}
    for variable in list(environment):
        if variable.startswith("MEMTRACK"):
            del environment[variable]
    environment["MEMTRACK_PYTHON"] = sys.executable

    def see(*before):
        ended = subprocess.run([*before, show, "a", "", "-o", "--help"], stdout=subprocess.PIPE,
                               env=environment, cwd=tmp_path, check=True, timeout=60,
                               preexec_fn=lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN))
        return json.loads(ended.stdout)

    plain = see(sys.executable)
    tracked = see(binary, "run", "-q", "-o", "out.bin")
    added = [line for line in tracked["environment"] if line not in plain["environment"]]
    assert [line.partition("=")[0] for line in added] == ["LD_PRELOAD", "MEMTRACK_SESSION"]
    assert [line for line in tracked["environment"] if line not in added] == \
        [line for line in plain["environment"] if line != "LD_PRELOAD="]
    for what in set(plain) - {"environment"}:
        assert tracked[what] == plain[what], what


def test_other_preloaded_libraries_stay(binary, python, tmp_path):
    show = "import os; print(os.environ['LD_PRELOAD'])"
    ended = subprocess.run([binary, "run", "-q", "-o", "out.bin", python, "-c", show],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path,
                           env={**os.environ, "LD_PRELOAD": "/other.so"}, check=True, timeout=60)
    first, second = ended.stdout.decode().strip().split(":")
    assert first.endswith("/libmemtrack.so") and second == "/other.so"


def test_an_existing_output_is_kept_without_force(call, programs, tmp_path):
    (tmp_path / "out.bin").write_text("precious")
    ended = call("run", "-o", "out.bin", programs("cli_ends"), "7")
    assert ended.returncode == 4 and b"exists already: use -f" in ended.stderr
    assert (tmp_path / "out.bin").read_text() == "precious"
    before = (tmp_path / "out.bin").stat().st_ino
    assert call("run", "-f", "-o", "out.bin", programs("cli_ends"), "7").returncode == 7
    assert (tmp_path / "out.bin").read_bytes() != b"precious"
    assert (tmp_path / "out.bin").stat().st_ino != before, "a capture in progress stays whole"


@pytest.fixture
def busy(tmp_path, programs):
    """A program that nobody can execute, and that looks as if: it is open for writing."""
    path = tmp_path / "busy"
    shutil.copy(programs("cli_ends"), path)
    with path.open("r+b"):
        if subprocess_fails_with(path) != errno.ETXTBSY:
            pytest.skip("this system executes what is open for writing")
        yield path


def subprocess_fails_with(path):
    """Return the errno of executing it; 0: it was executed."""
    try:
        subprocess.run([path], check=False)
    except OSError as error:
        return error.errno
    return 0


@pytest.mark.parametrize("output", ["out.bin", "link.bin"])
def test_what_is_to_be_replaced_stays_when_the_program_cannot_be_executed(call, busy, tmp_path,
                                                                          output):
    (tmp_path / "out.bin").write_text("precious")
    (tmp_path / "link.bin").symlink_to("out.bin")
    before = (tmp_path / "out.bin").stat()
    ended = call("run", "-f", "-o", output, busy)
    assert ended.returncode == 126 and b"Text file busy" in ended.stderr
    assert (tmp_path / "out.bin").read_text() == "precious"
    assert (tmp_path / "out.bin").stat().st_ino == before.st_ino
    assert {path.name for path in tmp_path.iterdir()} == {"busy", "link.bin", "out.bin"}


def test_a_program_that_cannot_be_executed_leaves_no_capture(call, busy, tmp_path):
    assert call("run", "-f", "-o", "out.bin", busy).returncode == 126
    assert [path.name for path in tmp_path.iterdir()] == ["busy"]


@pytest.mark.parametrize("output", ["out.bin", "link.bin"])
def test_what_is_replaced_is_gone_when_the_program_runs(call, programs, tmp_path, output):
    (tmp_path / "out.bin").write_text("precious")
    (tmp_path / "link.bin").symlink_to("out.bin")
    ended = call("run", "-f", "-o", output, "sh", "-c", "head -c 8 out.bin")
    assert len(ended.stdout) == 8 and ended.stdout != b"precious", "from its first instant on"
    assert {path.name for path in tmp_path.iterdir()} == {"link.bin", "out.bin"}
    assert (tmp_path / "link.bin").is_symlink()


@pytest.mark.parametrize("output", ["nosuch/out.bin", "folder", "/dev/null"])
def test_an_output_that_cannot_be_written(call, programs, tmp_path, output):
    (tmp_path / "folder").mkdir()
    ended = call("run", "-f", "-o", output, "touch", "started")
    assert ended.returncode == 4 and output.encode() in ended.stderr
    assert ended.stderr.startswith(b"memtrack: ")
    assert not (tmp_path / "started").exists(), "the program was not started"


def test_a_program_that_is_not_there(call, tmp_path):
    for name in ("no-such-program", "./nosuch", "nosuch.py"):
        ended = call("run", name)
        assert ended.returncode == 127 and name.encode() in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_here_is_named_when_path_lacks_it(call, script):
    script("tool", "#!/bin/sh\n")
    ended = call("run", "tool")
    assert ended.returncode == 127 and b"did you mean ./tool?" in ended.stderr


def test_a_program_that_may_not_be_executed(call, script, tmp_path):
    script("data", "text", mode=0o644)
    (tmp_path / "folder").mkdir()
    for name in ("./data", "./folder"):
        ended = call("run", name)
        assert ended.returncode == 126 and name.encode() in ended.stderr


def test_a_static_program_is_refused(call, programs):
    ended = call("run", programs("cli_static"), "7")
    assert ended.returncode == 126 and b"statically linked" in ended.stderr


@is_root
def test_a_setuid_program_is_refused(call, programs, tmp_path):
    path = tmp_path / "tool"
    shutil.copy(programs("cli_ends"), path)
    os.chown(path, 65534, 65534)
    path.chmod(0o4755)
    ended = call("run", path, "7")
    assert ended.returncode == 126 and b"setuid" in ended.stderr
    path.chmod(0o0755)
    assert call("run", "-o", "a.bin", path, "7").returncode == 7
    path.chmod(0o2755)
    ended = call("run", path, "7")
    assert ended.returncode == 126 and b"setgid" in ended.stderr


@pytest.mark.parametrize("what, at, to, said", [
    ("32-bit", 4, 1, b"is a program for"),
    ("another processor", 18, 243, b"is a program for RISC-V"),
])
def test_a_foreign_program_is_refused(call, programs, tmp_path, what, at, to, said):
    image = bytearray(pathlib.Path(programs("cli_ends")).read_bytes())
    image[at] = to
    if at == 18:
        image[at + 1] = 0
    path = tmp_path / "foreign"
    path.write_bytes(image)
    path.chmod(0o755)
    ended = call("run", path)
    assert ended.returncode == 126 and said in ended.stderr, what


def test_a_missing_interpreter_is_said_before_the_start(call, script, tmp_path):
    ended = call("run", script("tool", "#!/no/such/interpreter\n"))
    assert ended.returncode == 127 and b"/no/such/interpreter" in ended.stderr
    ended = call("run", script("tool", "#!/usr/bin/env no-such-program\n"))
    assert ended.returncode == 127 and b"no-such-program" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tool"]


def test_a_static_interpreter_is_refused(call, programs, script):
    ended = call("run", script("tool", f"#!{programs('cli_static')}\n"))
    assert ended.returncode == 126 and b"statically linked" in ended.stderr


def test_scripts_run_under_their_interpreter(call, script):
    tool = script("tool", "#!/bin/sh -e\nprintf '%s,' \"$0\" \"$@\"\nfalse\nexit 9\n")
    ended = call("run", "-q", "-o", "out.bin", tool, "a b", "c")
    assert ended.returncode == 1 and ended.stdout == f"{tool},a b,c,".encode()


def test_a_text_file_without_first_line_goes_to_the_shell(call, script):
    tool = script("tool", "echo $0 $1\nexit 3\n")
    ended = call("run", "-q", "-o", "out.bin", tool, "x")
    assert ended.returncode == 3 and ended.stdout == f"{tool} x\n".encode()


PRINT = "import sys; print(sys.executable, sys.argv)"


def test_python_files_run_under_the_chosen_python(call, script, python):
    script("app.py", PRINT, mode=0o644)
    environment = {**os.environ, "MEMTRACK_PYTHON": python}
    ended = call("run", "-q", "-o", "out.bin", "app.py", "-o", "x", env=environment)
    assert ended.stdout.decode() == f"{python} ['app.py', '-o', 'x']\n"
    environment["MEMTRACK_PYTHON"] = "/no/such/python"
    ended = call("run", "app.py", env=environment)
    assert ended.returncode == 127 and b"/no/such/python" in ended.stderr


def test_python_files_run_under_python3_else(call, script, tmp_path):
    python = script("python3", "#!/bin/sh\necho mine \"$@\"\n")
    environment = {name: value for name, value in os.environ.items() if name != "MEMTRACK_PYTHON"}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    script("app.py", PRINT, mode=0o644)
    script("plain", "#!/usr/bin/python3\n" + PRINT, mode=0o644)
    assert python.exists()
    for arguments, shown in ((["app.py", "1"], b"mine app.py 1\n"),
                             (["-m", "mod.ule", "-m", "1"], b"mine -m mod.ule -m 1\n"),
                             (["-c", "pass", "-c"], b"mine -c pass -c\n"),
                             (["./plain", "2"], b"mine ./plain 2\n")):
        ended = call("run", "-q", "-f", "-o", "out.bin", *arguments, env=environment)
        assert ended.stdout == shown


def test_scripts_with_a_python_first_line(call, script, tmp_path):
    script("venv", "#!/bin/sh\necho venv \"$@\"\n")
    (tmp_path / "venv").rename(tmp_path / "python-of-venv")
    tool = script("tool", f"#!{tmp_path}/python-of-venv\n{PRINT}")
    environment = {name: value for name, value in os.environ.items() if name != "MEMTRACK_PYTHON"}
    ended = call("run", "-q", "-f", "-o", "out.bin", tool, "1", env=environment)
    assert ended.stdout == f"venv {tool} 1\n".encode(), "an environment's own Python is kept"
    environment["MEMTRACK_PYTHON"] = sys.executable
    ended = call("run", "-q", "-f", "-o", "out.bin", tool, "1", env=environment)
    assert ended.stdout == f"{sys.executable} ['{tool}', '1']\n".encode(), "unless the user says"


def test_scripts_in_path_are_found(call, script, tmp_path):
    tool = script("tool.py", PRINT)
    (tmp_path / "elsewhere").mkdir()
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}",
                   "MEMTRACK_PYTHON": sys.executable}
    ended = call("run", "-q", "-o", "out.bin", "tool.py", "1", env=environment,
                 cwd=tmp_path / "elsewhere")
    assert ended.stdout == f"{sys.executable} ['{tool}', '1']\n".encode()


def test_modules_and_code(call, python):
    environment = {**os.environ, "MEMTRACK_PYTHON": python}
    ended = call("run", "-q", "-o", "m.bin", "-m", "timeit", "-n", "1", "-r", "1", "pass",
                 env=environment)
    assert ended.returncode == 0 and b"1 loop" in ended.stdout
    ended = call("run", "-q", "-o", "c.bin", "-c", "import sys; print(sys.argv)", "-o", "x",
                 env=environment)
    assert ended.stdout == b"['-c', '-o', 'x']\n"


def test_switched_off_it_is_the_program_alone(call, python, tmp_path):
    show = "import os; print(os.environ.get('LD_PRELOAD'), os.getppid())"
    ended = call("run", python, "-c", show, env={**os.environ, "MEMTRACK": "0"})
    assert ended.stdout.decode() == f"{os.environ.get('LD_PRELOAD')} {os.getpid()}\n"
    assert list(tmp_path.iterdir()) == []


def test_options_of_the_environment_stand_before_those_of_the_line(call, programs, tmp_path):
    environment = {**os.environ, "MEMTRACK_OPTIONS": " -q\t--output=standing.bin  --min-size 4K\n"}
    ended = call("run", programs("cli_ends"), env=environment)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    ended = call("run", "-o", "line.bin", programs("cli_ends"), "-v", env=environment)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["line.bin", "standing.bin"]
    for name in ("line.bin", "standing.bin"):
        assert b"left out: blocks smaller than 4.00 KiB" in call("info", name).stdout
    # Other commands have options of their own.
    assert call("stats", "line.bin", env=environment).stdout


@pytest.mark.parametrize("options, said", [
    ("--frob", "unknown option --frob"),
    ("-o", "-o needs a value"),
    ("-q ls", "ls: only options of memtrack run may stand there"),
    ("-q --", "--: only options of memtrack run may stand there"),
    ("-c pass", "-c: only options of memtrack run may stand there"),
    ("-m json", "-m: only options of memtrack run may stand there"),
])
def test_what_is_wrong_in_the_environment_is_said(call, programs, tmp_path, options, said):
    ended = call("run", programs("cli_ends"), env={**os.environ, "MEMTRACK_OPTIONS": options})
    assert ended.returncode == 2 and ended.stdout == b""
    assert ended.stderr.decode().startswith(f"memtrack: MEMTRACK_OPTIONS: {said}")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_ends_when_the_program_closes_it(binary, python, tmp_path):
    """Neither memtrack nor the collector may hold the program's pipes open."""
    code = ("import os, time; os.write(1, b'x'); os.close(1); os.close(2);"
            "open('closed', 'w'); time.sleep(60)")
    with subprocess.Popen([binary, "run", "-q", "-o", "out.bin", python, "-c", code],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        try:
            assert process.stdout.read() == b"x"  # returns only at the end of the pipe
            wait_until((tmp_path / "closed").exists, "the program goes on")
            assert process.poll() is None
        finally:
            process.terminate()
        assert process.wait(30) == -signal.SIGTERM


def test_what_outlives_the_program_does_not_hold_run(call, programs, script, tmp_path):
    tool = script("tool", "#!/bin/sh\n(sleep 3; echo late > late) </dev/null >/dev/null 2>&1 &\n")
    ended = call("run", "-o", "out.bin", tool)
    assert ended.returncode == 0 and not (tmp_path / "late").exists()
    assert b"still running and recorded" in ended.stderr
    wait_until((tmp_path / "late").exists, "the descendant goes on")


def test_a_killed_collector_leaves_the_program_alone(binary, python, tmp_path):
    code = "import time; open('started', 'w')\nwhile True:\n  time.sleep(.01); bytearray(100000)"
    with subprocess.Popen([binary, "run", "-o", "out.bin", python, "-c", code], cwd=tmp_path,
                          stderr=subprocess.PIPE) as process:
        wait_until((tmp_path / "started").exists, "the program starts")
        os.kill(collector_of(process.pid), signal.SIGKILL)
        time.sleep(0.3)
        assert process.poll() is None
        process.terminate()
        said = process.stderr.read()
        assert process.wait(30) == -signal.SIGTERM
    assert b"the collector was killed by signal 9: out.bin ends there" in said


def test_a_killed_run_leaves_the_program_alone(binary, python, tmp_path):
    code = ("import os, time; open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid')\n"
            "while not os.path.exists('stop'): time.sleep(.01)\nopen('done', 'w')")
    with subprocess.Popen([binary, "run", "-q", "-o", "out.bin", python, "-c", code], cwd=tmp_path,
                          ) as process:
        wait_until((tmp_path / "pid").exists, "the program starts")
        process.kill()
        process.wait(30)
    (tmp_path / "stop").touch()
    wait_until((tmp_path / "done").exists, "the program ends")


def children_of(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def collector_of(pid):
    found = [child for child in children_of(pid)
             if b"collect" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[1:2]]
    assert len(found) == 1, "one collector"
    return found[0]


def end_while_running(binary, python, tmp_path, interfere):
    """Run a program, interfere(pid of the collector), let it end. Returns what was said."""
    code = "import os, time; open('started', 'w')\nwhile not os.path.exists('stop'): time.sleep(.01)"
    with subprocess.Popen([binary, "run", "-q", "-o", "out/x.bin", python, "-c", code], cwd=tmp_path,
                          stderr=subprocess.PIPE, text=True) as process:
        wait_until((tmp_path / "started").exists, "the program starts")
        interfere(collector_of(process.pid))
        (tmp_path / "stop").touch()
        said = process.stderr.read()
        assert process.wait(30) == 0
    return said


def test_a_collector_that_is_asked_to_end_says_so(binary, python, tmp_path):
    (tmp_path / "out").mkdir()

    def ask(collector):
        os.kill(collector, signal.SIGTERM)
        wait_until(lambda: not os.path.exists(f"/proc/{collector}/exe"), "the collector ends")

    said = end_while_running(binary, python, tmp_path, ask)
    assert said.count("\n") == 1 and "out/x.bin: ends early" in said and "SIGTERM" in said
    stats = subprocess.run([binary, "stats", "--json", "out/x.bin"], cwd=tmp_path, check=True,
                           stdout=subprocess.PIPE)
    assert json.loads(stats.stdout)["capture"]["state"] == "clean"


@pytest.mark.parametrize("take_away", [
    lambda folder: (folder / "x.bin").unlink(),
    lambda folder: (folder / "x.bin").rename(folder / "y.bin"),
    shutil.rmtree,
], ids=["removed", "renamed", "folder removed"])
def test_a_capture_that_is_taken_away_is_told(binary, python, tmp_path, take_away):
    (tmp_path / "out").mkdir()
    said = end_while_running(binary, python, tmp_path, lambda _: take_away(tmp_path / "out"))
    assert said.count("\n") == 1 and "out/x.bin: was removed or renamed" in said


def test_the_collector_is_out_of_the_way(binary, python, tmp_path):
    code = "import time; open('started', 'w'); time.sleep(60)"
    with subprocess.Popen([binary, "run", "-q", "-o", "out.bin", python, "-c", code],
                          cwd=tmp_path) as process:
        try:
            wait_until((tmp_path / "started").exists, "the program starts")
            collector = collector_of(process.pid)
            assert os.getpgid(collector) == collector
            names = {name.read_text().strip()
                     for name in pathlib.Path(f"/proc/{collector}/task").glob("*/comm")}
            assert names - {"memtrack-model"} == {  # which is there where there are two processors
                "memtrack", "memtrack-clock", "memtrack-drain", "memtrack-pack"}
            # A session of its own would be scheduled as one, and kept from running on a busy machine.
            assert os.getsid(collector) == os.getsid(process.pid)
            environment = pathlib.Path(f"/proc/{collector}/environ").read_bytes()
            assert b"LD_PRELOAD" not in environment and b"MEMTRACK" not in environment
            assert os.readlink(f"/proc/{collector}/cwd") == "/"
            for standard in range(3):
                assert os.readlink(f"/proc/{collector}/fd/{standard}") == "/dev/null"
            program = next(child for child in children_of(process.pid) if child != collector)
            session = pathlib.Path(f"/proc/{program}/environ").read_bytes()
            token = session.split(b"MEMTRACK_SESSION=")[1].split(b"\0")[0].split(b":")[1]
            for line in (f"/proc/{collector}/cmdline", f"/proc/{process.pid}/cmdline"):
                assert token not in pathlib.Path(line).read_bytes(), "the token is a secret"
        finally:
            process.terminate()
