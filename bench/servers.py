"""What tracking costs a server under load, and what the collector takes beside it.

Each sample starts the server under its tool, lets it get ready, sends it a fixed number of requests
and ends it. Client, server and collector share the machine's processors: where all of them are
busy, requests a second have the collector's whole cost in them, and processor time for a request
has not. On the loopback device a packet is worked on by whoever runs when it arrives, client or
server, so their times are taken together: what both take more than plain is put down to the server.
"""
import functools
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import time

import figures
import measure
import tools

WORKERS, CONNECTIONS, BODY_BYTES = 4, 16, 1024
READY_S, SETTLE_S = 20, 0.3
SERVER_MOST = 1.1  # of the server's own processor time for a request

NGINX_CONF = """daemon off;
worker_processes {workers};
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""

PYTHON_SERVER = """
import asyncio, json, signal, sys
async def serve(reader, writer):
    try:
        while await reader.readuntil(b"\\r\\n\\r\\n"):
            body = json.dumps({str(i): [i, float(i), str(i) * 5] for i in range(50)}).encode()
            writer.write(b"HTTP/1.0 200 OK\\r\\nConnection: keep-alive\\r\\n"
                         b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await stopped.wait()
    server.close()
asyncio.run(main())
"""


class Server:
    """One to be measured. argv: starts it in the foreground; port: where it listens."""

    def __init__(self, argv, port, end_signal=signal.SIGTERM):
        self.argv, self.port, self.end_signal = [str(word) for word in argv], port, end_signal
        self.program = os.path.realpath(shutil.which(self.argv[0]))


def _free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _parents():
    """Return {pid: parent's pid} of all processes."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return parents


def _processes_of(server, root):
    """Return the pids of root and its descendants that run the server's program, oldest first."""
    parents, found = _parents(), []
    for pid in sorted(parents):
        ancestor = pid
        while ancestor not in (root, 0) and ancestor in parents:
            ancestor = parents[ancestor]
        try:
            if ancestor == root and os.readlink(f"/proc/{pid}/exe") == server.program:
                found.append(pid)
        except OSError:
            continue
    return found


def _cpu_of(pids):
    """Return user and system time of processes, all their threads, in seconds."""
    ticks = 0
    for pid in pids:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        ticks += sum(map(int, stat.rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _cpu_of_children():
    """Return the same of those that we have waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _await_ready(server, process):
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", server.port), 1).close()
            time.sleep(SETTLE_S)
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"{process.args}: does not listen")


def _run_once(setting, server, load, requests, tool):
    """
    Return a Sample, all for a request. program_cpu: the client's and the server's; tree_cpu: the
    collector's too; in its words the server's alone.
    """
    tool.clean()
    with subprocess.Popen(tool.wrap(server.argv), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        pids = []
        try:
            _await_ready(server, process)
            pids = _processes_of(server, process.pid)
            cpu, client, began = _cpu_of(pids), _cpu_of_children(), time.monotonic()
            load()
            wall = time.monotonic() - began
            cpu, client = _cpu_of(pids) - cpu, _cpu_of_children() - client
        finally:
            os.kill(pids[0] if pids else process.pid, server.end_signal)
    collector = figures.stats_of(setting)["overhead"]["collector_ns"] / 1e9 \
        if tool is setting.memtrack else 0
    both = (cpu + client) / requests
    return measure.Sample(both, both + collector / requests, wall, 0, {
        "requests_s": requests / wall, "server": cpu / requests,
        "collector": collector / requests})


def _rows(setting, name, started, load, requests, beside):
    """Yield the rows of one Server. beside: other tools, each None when it is not to be had."""
    chosen = [tools.Tool("plain"), setting.memtrack, *filter(None, beside)]
    samples = measure.in_turns({
        tool.name: functools.partial(_run_once, setting, started, load, requests, tool)
        for tool in chosen}, setting.rounds)
    own = measure.median(samples["plain"], "server")

    def median_of(tool, ratio):
        """Over the rounds: what runs one after the other has met the same machine."""
        if tool not in samples:
            return ""
        return f"{statistics.median(map(ratio, samples[tool], samples['plain'])):.2f}"

    def rate(tracked, plain):
        return tracked.words["requests_s"] / plain.words["requests_s"]

    def server(tracked, plain):
        return 1 + (tracked.program_cpu - plain.program_cpu) / plain.words["server"]

    def tree(tracked, plain):
        return server(tracked, plain) + tracked.words["collector"] / plain.words["server"]

    memtrack = median_of("memtrack", server)
    plain_rate = measure.median(samples["plain"], "requests_s")
    yield figures.Row(f"{name}: requests/s", f"{plain_rate:.0f}", median_of("memtrack", rate),
                      memray=median_of("memray", rate), heaptrack=median_of("heaptrack", rate))
    yield figures.Row(f"{name}: the server's CPU for a request", f"{own * 1e6:.1f} us", memtrack,
                      f"{SERVER_MOST}", float(memtrack) <= SERVER_MOST, median_of("memtrack", tree),
                      median_of("memray", server), median_of("heaptrack", server))
    yield figures.Row(f"{name}: the collector's CPU for a request", "",
                      f"{measure.median(samples['memtrack'], 'collector') * 1e6:.2f} us")


def _lacks(*programs):
    """Return what is missing, as a text; empty when all of it is there."""
    return ", ".join(name for name in programs if shutil.which(name) is None)


def _http_load(port, requests, is_kept_alive):
    """Return a function that sends so many requests, and fails when one of them does."""
    argv = ["ab", "-q", "-n", str(requests), "-c", str(CONNECTIONS),
            *(["-k"] if is_kept_alive else []), f"http://127.0.0.1:{port}/"]

    def load():
        said = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False).stdout
        if f"Complete requests:      {requests}\n" not in said or "Non-2xx" in said \
                or not re.search(r"^Failed requests: +0$", said, re.M):
            raise RuntimeError(f"{argv}:\n{said}")
    return load


def _nginx(setting):
    missing = _lacks("nginx", "ab")
    if missing:
        yield figures.Row(f"nginx: skipped, {missing} not found", "", "")
        return
    port = _free_port()
    folder = setting.folder / "nginx"
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "index.html").write_text("x" * BODY_BYTES, encoding="ascii")
    conf = folder / "nginx.conf"
    conf.write_text(NGINX_CONF.format(workers=WORKERS, folder=folder, port=port), encoding="utf-8")
    setting.folder.chmod(0o711)  # workers of root's nginx are somebody else
    server = Server(["nginx", "-e", folder / "error.log", "-c", conf], port, signal.SIGQUIT)
    # heaptrack does not follow a fork: it would say what the master costs, which serves nothing.
    for is_kept_alive, count in ((True, 300_000), (False, 100_000)):
        requests = int(count * setting.share)
        name = f"nginx, {WORKERS} workers, {'kept-alive' if is_kept_alive else 'new connections'}"
        yield from _rows(setting, name, server, _http_load(port, requests, is_kept_alive),
                         requests, [])


def _redis(setting):
    missing = _lacks("redis-server", "redis-benchmark")
    if missing:
        yield figures.Row(f"redis: skipped, {missing} not found", "", "")
        return
    port = _free_port()
    server = Server(["redis-server", "--port", port, "--save", "", "--appendonly", "no"], port)
    for pipeline, count in ((1, 200_000), (16, 1_000_000)):
        requests = int(count * setting.share)
        argv = ["redis-benchmark", "-p", str(port), "-q", "-n", str(requests), "-r", "100000",
                "-d", "100", "-P", str(pipeline), "-t", "set,get,lpush,hset"]
        load = functools.partial(subprocess.run, argv, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, check=True)
        name = f"redis, {'one by one' if pipeline == 1 else f'pipelines of {pipeline}'}"
        yield from _rows(setting, name, server, load, requests * 4, [setting.heaptrack])


def _python(setting):
    missing = _lacks("ab")
    if missing:
        yield figures.Row(f"Python: skipped, {missing} not found", "", "")
        return
    python = setting.pythons[0]
    port = _free_port()
    script = setting.folder / "server.py"
    script.write_text(PYTHON_SERVER, encoding="utf-8")
    requests = int(60_000 * setting.share)
    version = ".".join(map(str, tools.python_facts(python)[0]))
    server = Server([python, script, port], port)
    yield from _rows(setting, f"asyncio, JSON, Python {version}", server,
                     _http_load(port, requests, True), requests,
                     [setting.memray_of(python), setting.heaptrack])


def servers(setting):
    """Servers under load."""
    yield from _nginx(setting)
    yield from _redis(setting)
    yield from _python(setting)
