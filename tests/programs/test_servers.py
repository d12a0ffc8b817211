"""Servers: processes that fork ahead, share memory, change user, and end when they are told."""
import os
import pwd

import pytest

# Made outside the test's folders, which another user cannot enter.
POSTGRES = r"""
set -e
d=$(mktemp -d /tmp/memtrack-postgres.XXXXXX)
trap 'rm -rf "$d"' EXIT
PATH=$1:$PATH
initdb -D "$d/data" -A trust --no-sync -U postgres >/dev/null
pg_ctl -D "$d/data" -o "-k $d -c listen_addresses='' -c fsync=off" -w -l "$d/log" start >/dev/null
psql -h "$d" -U postgres -qAt \
    -c 'create table t as select i, md5(i::text) m from generate_series(1, 50000) i' \
    -c 'create index on t(m)' -c 'select count(*), min(m) from t' \
    -c 'set parallel_setup_cost=0; set parallel_tuple_cost=0; set min_parallel_table_scan_size=0' \
    -c 'select sum(length(m)) from t'
psql -h "$d" -U postgres -qAt -c 'select no_such_column' || echo "psql: $?"
pg_ctl -D "$d/data" -m fast stop
"""


def test_postgres(same_as_plain, have):
    binaries = os.path.dirname(os.path.realpath(have("postgres")))
    as_user = []
    if os.getuid() == 0:
        user = pwd.getpwnam("nobody")
        as_user = [have("setpriv"), f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                   "--clear-groups"]
    capture, *_ = same_as_plain(*as_user, "bash", "-c", "cd / && eval \"$0\"", POSTGRES, binaries)
    commands = " ".join(process["command"] for process in capture.stats()["processes"])
    assert "bin/postgres" in commands and "psql" in commands


REDIS = r"""
redis-server --port 0 --unixsocket s --save '' --dir "$PWD" >log &
for i in $(seq 200); do test -S s && break; sleep 0.05; done
redis-benchmark -s s -n 3000 -c 10 -q -t set,get,lpush >benchmark 2>&1
redis-cli -s s set a b; redis-cli -s s save; redis-cli -s s dbsize
redis-cli -s s shutdown nosave; wait $!; echo $?
"""


def test_redis(same_as_plain, have):
    have("redis-server")
    have("redis-benchmark")
    same_as_plain("bash", "-c", REDIS)


NGINX = """daemon off; worker_processes 2; pid pid; error_log errors; events {} http {
access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
uwsgi_temp_path t4; scgi_temp_path t5; server { listen unix:%s/s; root %s; } }
"""
ASK_NGINX = r"""
n() { nginx -p "$PWD" -c "$PWD/conf" -e errors "$@"; }
n & for i in $(seq 200); do test -S s && test -s pid && break; sleep 0.05; done
for i in 1 2 3; do curl -s --unix-socket s http://x/file | md5sum; done
n -s reload; sleep 0.3
curl -s --unix-socket s http://x/none | wc -c; n -s quit; wait $!; echo $?
"""


def test_nginx(same_as_plain, have, tmp_path):
    have("nginx")
    have("curl")
    if os.getuid() != 0 or len(str(tmp_path)) > 80:
        pytest.skip("its workers change user, and a socket's path is short")

    def prepare(folder):
        (folder / "conf").write_text("user root; " + NGINX % (folder, folder))
        (folder / "file").write_text("".join(f"{n}\n" for n in range(20000)))

    capture, *_ = same_as_plain("bash", "-c", ASK_NGINX, prepare=prepare)
    commands = [process["command"] for process in capture.stats()["processes"]]
    assert sum("nginx" in command for command in commands) >= 3
