"""Runtimes of other languages: collectors that protect pages, signals of their own, odd stacks."""
import pytest

import tracked

JAVA = """
import java.util.*; import java.util.concurrent.*;
public class T {
    static int deep(int x) { return deep(x + 1) + 1; }
    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(4); var results = new ArrayList<Future<Integer>>();
        for (int i = 0; i < 8; i++) { int k = i; results.add(pool.submit(() -> {
            var map = new HashMap<String, byte[]>();
            for (int j = 0; j < 20000; j++) map.put("k" + j % 999, new byte[k * 10]);
            return map.size() + k; })); }
        int sum = 0; for (var result : results) sum += result.get();
        System.out.println(sum); pool.shutdown();
        try { deep(0); } catch (StackOverflowError e) { System.out.println("deep"); }
        Object none = null;
        try { none.hashCode(); } catch (NullPointerException e) { System.out.println("null"); }
        System.out.println(java.nio.ByteBuffer.allocateDirect(1 << 20).capacity());
        var child = new ProcessBuilder("sh", "-c", "echo child; exit 3").inheritIO().start();
        System.out.println(child.waitFor()); System.exit(5);
    }
}
"""


def test_java(same_as_plain, have):
    """Compiled and run by one command; its page faults are how it finds null and full stacks."""
    if tracked.finish([have("java"), "-version"]).returncode != 0:
        pytest.skip("java does not run here")
    same_as_plain("java", "-Xmx64m", "T.java", expect=5,
                  prepare=lambda folder: (folder / "T.java").write_text(JAVA))


NODE = """
const {Worker, isMainThread, parentPort} = require("worker_threads");
const children = require("child_process"), cluster = require("cluster");
if (!isMainThread) {
    const list = []; for (let i = 0; i < 50000; i++) list.push("x" + i);
    parentPort.postMessage(list.length);
} else if (cluster.isWorker) {
    process.send("here"); process.on("message", () => process.exit(3));
} else (async () => {
    for (let i = 0; i < 3; i++)
        console.log(await new Promise(done => new Worker(__filename).on("message", done)));
    console.log(children.execSync("echo sync").toString());
    console.log(children.spawnSync("sh", ["-c", "exit 9"]).status);
    const worker = cluster.fork(); worker.on("message", () => worker.send("end"));
    worker.on("exit", code => { console.log("worker", code);
        const sleep = children.spawn("sleep", ["10"]);
        sleep.on("exit", (code, signal) => { console.log(code, signal); process.exit(6); });
        sleep.kill(); });
})();
"""


def test_node_with_workers(same_as_plain, have):
    same_as_plain(have("node"), "main.js", expect=6,
                  prepare=lambda folder: (folder / "main.js").write_text(NODE))


RUST = """
use std::cell::RefCell; use std::thread;
thread_local! { static LIST: RefCell<Vec<String>> = RefCell::new(Vec::new()); }
struct Last(u32);
impl Drop for Last {
    fn drop(&mut self) { LIST.with(|l| l.borrow_mut().push(format!("d{}", self.0))); }
}
fn main() {
    let named = |i| thread::Builder::new().name(format!("t{}", i));
    let threads: Vec<_> = (0..4).map(|i| named(i).spawn(move || {
        for k in 0..10000 { LIST.with(|l| l.borrow_mut().push("x".repeat(k % 50))) }
        let _last = Last(i); if i == 2 { panic!("boom") }
        LIST.with(|l| l.borrow().len()) }).unwrap()).collect();
    for t in threads {
        match t.join() { Ok(n) => println!("{}", n), Err(_) => println!("panicked") }
    }
    println!("{}", std::panic::catch_unwind(|| { let v: Vec<i32> = vec![]; v[1] }).is_err());
    std::process::exit(11)
}
"""


def test_rust(same_as_plain, have):
    if tracked.finish([have("rustc"), "--version"]).returncode != 0:
        pytest.skip("rustc does not run here")
    same_as_plain("sh", "-c", "rustc -O main.rs && ./main 2>errors", expect=11,
                  prepare=lambda folder: (folder / "main.rs").write_text(RUST))


SBCL = """(progn
 (let ((list nil)) (dotimes (i 500000) (push (make-string 20) list)) (print (length list)))
 (sb-ext:gc :full t)
 (print (length (mapcar #'sb-thread:join-thread (loop for i below 4 collect
   (sb-thread:make-thread (lambda () (loop repeat 100000 collect (list 1 2))))))))
 (handler-case (labels ((f (x) (+ 1 (f x)))) (f 1)) (storage-condition () (print :deep)))
 (sb-ext:exit :code 7))"""
LUAJIT = """local list = {} for i = 1, 300000 do list[i] = tostring(i) end print(#table.concat(list))
local ffi = require "ffi" ffi.cdef "void *malloc(size_t); void free(void *);"
for i = 1, 10000 do ffi.C.free(ffi.C.malloc(i)) end
local c = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
print(c(), c()) os.exit(5)"""
RUBY = """threads = 4.times.map { |i| Thread.new { (1..20000).map { |x| "s#{x * i}" }.join.size } }
p threads.map(&:value); fork { puts [1, 2].inspect; exit 3 }; Process.wait; p $?.exitstatus
GC.start; puts `echo child`; exit 4"""
PHP = """$a = []; for ($i = 0; $i < 100000; $i++) $a[] = md5($i); sort($a);
echo $a[0], count($a), PHP_EOL; exit(4);"""
ERLANG = """P = self(), N = lists:seq(1, 200),
[spawn(fun() -> P ! lists:sum(lists:seq(1, I * 100)) end) || I <- N],
R = [receive X -> X end || _ <- N], io:format("~p~n", [lists:sum(R)]), halt(4)."""


@pytest.mark.parametrize("name, arguments, code", [
    ("sbcl", ["--noinform", "--non-interactive", "--eval", SBCL], 7), ("luajit", ["-e", LUAJIT], 5),
    ("ruby", ["-e", RUBY], 4), ("php", ["-r", PHP], 4), ("erl", ["-noshell", "-eval", ERLANG], 4)],
    ids=["sbcl", "luajit", "ruby", "php", "erlang"])
def test_language(same_as_plain, have, tmp_path, name, arguments, code):
    same_as_plain(have(name), *arguments, expect=code, env={"HOME": str(tmp_path)})
