"""fork, vfork, spawn, exec: the program is unharmed, and the capture lists its processes."""
import os

import pytest

import tracked


@pytest.fixture
def run_case(memtrack, programs):
    """Run one case of conformance_processes; return the finished program."""
    def run(name, **options):
        return memtrack.run(programs("conformance_processes"), name, **options)

    return run


def listed(capture):
    """Return the tracked processes of a capture by pid, the last image of each."""
    return {process["pid"]: process for process in capture.stats()["processes"]
            if process["tracked"]}


def test_68_fork_child_reports_and_owns_its_frees(run_case):
    ended = run_case("fork")
    capture = ended.capture
    capture.assert_sound()
    parent, child = capture.one(50021)["pid"], ended.words()["child"][0]
    processes = listed(capture)
    assert processes[child]["parent_pid"] == parent
    assert processes[child]["exit"] == {"code": 7} and processes[parent]["exit"] == {"code": 0}
    events = capture.sized(50023)
    assert [event["pid"] for event in events] == [child] * 10
    block = capture.one(50021)["address"]
    freed_by = {event["pid"] for event in capture.events()
                if event["op"] == "free" and event["address"] == block}
    assert freed_by == {parent, child}
    assert capture.totals()["unknown_frees"] == 0


POOL = """
    import ctypes, multiprocessing, sys
    libc = ctypes.CDLL(None)
    libc.valloc.restype = ctypes.c_void_p
    libc.valloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    def work(n):
        for _ in range(n):
            libc.free(libc.valloc(1234))
        return n
    if __name__ == "__main__":
        multiprocessing.set_start_method(sys.argv[1])
        with multiprocessing.Pool(3) as pool:
            print(sum(pool.map(work, [100] * 30, chunksize=1)))
            pool.close()
            pool.join()
    """


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_68_69_pool_of_three(memtrack, tmp_path, any_python, method):
    script = tracked.Script(tmp_path, POOL)
    ended = memtrack.run(any_python.path, script, method)
    assert ended.stdout == "3000\n"
    capture = ended.capture
    capture.assert_sound()
    parent = capture.events()[0]["pid"]
    takes = [event for event in capture.sized(1234) if event["allocator"] == "valloc"]
    assert len(takes) == 3000
    assert {tracked.names(event)[0] for event in takes} == {"work"}
    workers = {event["pid"] for event in takes}
    assert 1 <= len(workers) <= 3 and parent not in workers
    assert workers <= set(listed(capture))
    for pid in workers:
        mine = [event for event in capture.events() if event["pid"] == pid]
        blocks = {event["address"] for event in mine if event["allocator"] == "valloc"}
        taken = sum(event["allocator"] == "valloc" for event in mine)
        given = sum(event["op"] == "free" and event["address"] in blocks for event in mine)
        assert given >= taken, "releases are lost where a worker ends"


def test_69_programs_started_by_a_script(memtrack, tmp_path, programs, any_python):
    script = tracked.Script(tmp_path, """
        import subprocess, sys
        processes = sys.argv[1]
        print(subprocess.run([processes, "image"], stdout=subprocess.PIPE).stdout.decode().strip())
        print(subprocess.run([sys.executable, "-c", "b = bytearray(50_080)"]).returncode)
        print(subprocess.run("echo one | cat | wc -l", shell=True,
                             stdout=subprocess.PIPE).stdout.decode().strip())
        """)
    ended = memtrack.run(any_python.path, script, programs("conformance_processes"))
    assert ended.stdout == "image\n0\n1\n"
    capture = ended.capture
    main = listed(capture)[capture.events()[0]["pid"]]
    assert capture.one(50043)["pid"] != main["pid"]
    assert capture.one(50081)["pid"] != main["pid"]
    commands = " ".join(process["command"] for process in capture.stats()["processes"])
    for name in ("conformance_processes", "cat", "wc"):
        assert name in commands


def test_70_exec_in_place_is_a_new_image_of_the_session(run_case):
    ended = run_case("exec")
    assert ended.stdout == "image\n"
    capture = ended.capture
    capture.assert_sound()
    before, after = capture.one(50041), capture.one(50043)
    assert before["pid"] == after["pid"]
    images = [process for process in capture.stats()["processes"]
              if process["pid"] == before["pid"]]
    assert len(images) == 2
    assert images[0]["exit"] == {"exec": before["pid"]}
    assert images[1]["exit"] == {"code": 0}


def test_70_exec_with_an_empty_environment_runs_untracked(run_case):
    ended = run_case("exec_bare")
    assert ended.stdout == "image\n"
    assert ended.capture.one(50041)
    assert not ended.capture.sized(50043)


def test_70_exec_that_fails_changes_nothing(run_case):
    ended = run_case("exec_fails")
    ended.capture.assert_sound()
    assert ended.capture.one(50045)["pid"] == ended.capture.one(50041)["pid"]
    assert len(ended.capture.stats()["processes"]) == 1


def test_71_children_that_borrow_the_memory(run_case):
    ended = run_case("borrowed")
    capture = ended.capture
    totals = capture.assert_sound()
    assert totals["unknown_frees"] == 0
    assert len(capture.sized(50031)) == len(capture.sized(50033)) == 20


def test_72_forks_while_a_thread_is_inside_the_allocator(run_case, is_full):
    count = 1000 if is_full else 200
    ended = run_case("fork_storm", env={**os.environ, "FORKS": str(count)}, timeout=600)
    assert ended.words()["forks"] == [count]
    totals = ended.capture.assert_sound()
    assert totals["unknown_frees"] == 0
    children = [process for process in ended.capture.stats()["processes"]
                if process["parent_pid"] is not None]
    assert len(children) == count
    assert all(process["exit"] == {"code": 0} and process["allocations"] >= 1
               for process in children)
