"""The auditor: what is too soon is found, all of it and nothing else, in logs of both kinds."""

from __future__ import annotations

import http.client
import io
import itertools
import json
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.programs import program
from webcrawler.sampleweb import Arrival, SampleServer, SampleWeb
from webcrawler.sampleweb.audit import audit, main
from webcrawler.sampleweb.logs import read_arrivals, read_line

TIMES = st.integers(0, 400).map(lambda tenth: tenth / 10)


def arrival(at, ended=None, host="a.test", path="/", server="127.0.0.1", **more):
    return Arrival(
        host=host,
        path=path,
        status=more.get("status", 200),
        arrived_at=at,
        ended_at=at + 0.1 if ended is None else ended,
        client="127.0.0.1",
        server=server,
        connection=1,
        method=more.get("method", "GET"),
        size=0,
        agent="",
        is_complete=more.get("is_complete", True),
    )


def lines(arrivals) -> bytes:
    return b"".join(json.dumps(one._asdict()).encode() + b"\n" for one in arrivals)


def nginx(at, took, host="a.test", path="/", server="127.0.0.1", status=200) -> bytes:
    return (
        f"{at + took:.3f} {took:.3f} {host} {server} 127.0.0.1 7 {status} 120 GET {path}"
        ' "x/1 (y)"\n'
    ).encode()


# The laws


def test_a_polite_crawl_passes():
    report = audit([arrival(0), arrival(1.1), arrival(2.2), arrival(0.5, host="b.test")], 1.0)
    assert report.is_polite
    assert (report.requests, report.hosts, report.addresses) == (4, 2, 1)
    assert report.smallest_gap == report.median_gap == pytest.approx(1.0)


def test_the_gap_counts_from_the_end_of_the_one_before():
    (violation,) = audit([arrival(0, 5, path="/slow"), arrival(5.5, path="/next")], 1.0).violations
    assert violation.law == "gap"
    assert violation.scope == "host"
    assert violation.name == "a.test"
    assert violation.url == "http://a.test/next"
    assert violation.previous_url == "http://a.test/slow"
    assert violation.gap == pytest.approx(0.5)
    assert violation.needed == 1.0


def test_two_at_once_are_an_overlap_even_without_a_delay():
    report = audit([arrival(0, 2), arrival(1, 3)], 0.0)
    assert [violation.law for violation in report.violations] == ["overlap"]
    assert report.smallest_gap == -1


def test_one_that_lasts_long_is_not_hidden_by_a_short_one_after_it():
    report = audit([arrival(0, 10), arrival(1, 1.1), arrival(5, 5.1), arrival(10.5)], 1.0)
    assert [violation.law for violation in report.violations] == ["overlap", "overlap", "gap"]
    assert {violation.previous_url for violation in report.violations} == {"http://a.test/"}


def test_the_tolerance_is_for_clocks():
    pair = [arrival(0, 1), arrival(1.99)]
    assert audit(pair, 1.0, tolerance=0.02).is_polite
    assert not audit(pair, 1.0, tolerance=0.005).is_polite
    touching = [arrival(0, 1.01), arrival(1, 2)]
    assert audit(touching, 0.0, tolerance=0.02).is_polite
    assert not audit(touching, 0.0, tolerance=0.005).is_polite


def test_delays_by_host():
    arrivals = [arrival(at, host=host) for host in ("a.test", "b.test") for at in (0, 1)]
    assert audit(arrivals, {"a.test": 0.5, "b.test": 2}).violations[0].name == "b.test"
    assert len(audit(arrivals, {"a.test": 0.5, "*": 2}).violations) == 1
    assert audit(arrivals, {"a.test": 0.5}).is_polite
    assert len(audit(arrivals, lambda host: 2.0 if host == "a.test" else 0.0).violations) == 1


def test_addresses_are_checked_on_request():
    arrivals = [
        arrival(0, host="a.test"),
        arrival(0.5, host="b.test"),
        arrival(0.5, host="c.test", server="127.0.0.2"),
    ]
    assert audit(arrivals, 1.0).is_polite
    (violation,) = audit(arrivals, 1.0, address_delay=1.0).violations
    assert (violation.scope, violation.name) == ("address", "127.0.0.1")
    assert violation.url == "http://b.test/"
    assert audit(arrivals, 1.0, address_delay={"127.0.0.2": 1.0}).is_polite


def test_logs_are_merged_by_time():
    before, after = [arrival(0), arrival(4)], [arrival(4.5), arrival(2)]
    assert audit(before, 1.0).is_polite
    assert audit(after, 1.0).is_polite
    assert [violation.at for violation in audit(before + after, 1.0).violations] == [4.5]


def test_what_is_fetched_more_than_once_is_told():
    report = audit(
        [
            arrival(0, path="/twice"),
            arrival(10, path="/twice"),
            arrival(20, path="/again", status=503),
            arrival(30, path="/again"),
            arrival(40, path="/cut", is_complete=False),
            arrival(50, path="/cut"),
            arrival(60, path="/robots.txt"),
            arrival(70, path="/robots.txt"),
            arrival(80, path="/unchanged"),
            arrival(90, path="/unchanged", status=304),
        ]
    )
    assert report.refetched == {"http://a.test/twice": 2}


def test_nothing_is_polite():
    report = audit([])
    assert report.is_polite
    assert (report.requests, report.smallest_gap, report.median_gap) == (0, None, None)


@given(
    st.lists(st.tuples(TIMES, TIMES, st.sampled_from(["a.test", "b.test"])), max_size=25),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    st.randoms(use_true_random=False),
)
def test_none_is_missed_and_none_invented(spans, delay, random):
    spans = list(dict.fromkeys(spans))
    arrivals = [
        arrival(start, start + length, host=host, path=f"/{number}")
        for number, (start, length, host) in enumerate(spans)
    ]
    random.shuffle(arrivals)
    report = audit(arrivals, delay, tolerance=0.001)
    # Slowly: a request is too soon if any earlier one of its host had not ended a delay before.
    guilty = {
        f"http://{second.host}{second.path}"
        for first, second in itertools.permutations(arrivals, 2)
        if first.host == second.host
        and (first.arrived_at, first.ended_at) < (second.arrived_at, second.ended_at)
        and second.arrived_at < first.ended_at + delay - 0.001
    }
    assert {violation.url for violation in report.violations} == guilty
    assert len(report.violations) == len(guilty)


# Logs


def test_our_own_log_is_read_as_written():
    arrivals = [arrival(1.25, path='/ü?x="y"'), arrival(5)]
    assert list(read_arrivals(io.BytesIO(lines(arrivals)))) == arrivals


def test_nginx_starts_are_computed():
    read = read_line(nginx(1700000000.25, 0.5, "A.test", '/x y"z', "127.0.0.3", 304))
    assert read.host == "a.test"
    assert read.path == '/x y"z'
    assert read.server == "127.0.0.3"
    assert read.status == 304
    assert read.agent == "x/1 (y)"
    assert read.connection == 7
    assert read.arrived_at == pytest.approx(1700000000.25)
    assert read.ended_at == pytest.approx(1700000000.75)


def test_both_kinds_can_be_merged():
    log = lines([arrival(100), arrival(102)]) + nginx(102.5, 0.1)
    report = audit(read_arrivals(io.BytesIO(log)), 1.0)
    assert report.requests == 3
    assert [violation.at for violation in report.violations] == [pytest.approx(102.5)]


@pytest.mark.parametrize(
    "line",
    [
        b"not a log line",
        b"{",
        b"{}",
        b"[]",
        b'{"host": 1, "path": "/", "status": 200, "arrived_at": 1, "ended_at": 2}',
        b'{"host": "a", "path": "/", "status": 200, "arrived_at": "x", "ended_at": 2}',
        b'{"host": "a", "path": "/", "status": 200, "arrived_at": NaN, "ended_at": 2}',
        b'{"host": "a", "path": "/", "status": 1e999, "arrived_at": 1, "ended_at": 2}',
        b'{"host": "a", "path": "/", "status": 200, "arrived_at": 1' + b"0" * 5000 + b"}",
        b'{"a":' + b"[" * 100_000,
        b"\xff\xfe\x00",
        b"1700000000.000 0.100 a.test 127.0.0.1",
        b"x" * 1_000_000,
    ],
)
def test_bad_lines_are_counted(line):
    log = line + b"\n\n" + lines([arrival(0), arrival(5)])
    report = audit(read_arrivals(io.BytesIO(log)), 1.0)
    assert (report.bad_lines, report.requests) == (1, 2)


def test_a_half_written_last_line_is_counted():
    log = lines([arrival(0), arrival(5)])[:-20]
    report = audit(read_arrivals(io.BytesIO(log)))
    assert (report.bad_lines, report.requests) == (1, 1)


@given(st.binary(max_size=300))
def test_no_line_raises(line):
    read_line(line)
    read_line(b"{" + line)


# The command


def test_the_command_says_what_is_wrong_and_ends_with_1(tmp_path, capsys):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(lines([arrival(0), arrival(3, path="/next")]))
    second.write_bytes(nginx(3.2, 0.01, path="/soon") + b"noise\n")
    assert main([str(first)]) == 0
    assert capsys.readouterr().out.startswith("polite: 0 violations, 2 requests")
    assert main([str(first), str(second)]) == 1
    shown = capsys.readouterr().out
    assert "gap host a.test: 0.1" in shown
    assert "http://a.test/soon after http://a.test/next" in shown
    assert "NOT polite: 1 violations" in shown
    assert "1 bad lines" in shown
    assert main(["--delay", "0.05", str(first), str(second)]) == 0
    assert main(["--delay", "a.test=0.05", str(first), str(second)]) == 0
    assert main(["--delay", "b.test=0.05", str(first), str(second)]) == 1
    assert main(["--delay", "0", "--address-delay", "5", str(first), str(second)]) == 1
    capsys.readouterr()
    assert main(["--json", str(first), str(second)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["is_polite"] is False
    assert told["violations"][0]["url"] == "http://a.test/soon"
    assert told["bad_lines"] == 1


def test_the_command_shows_a_limited_number(tmp_path, capsys):
    log = tmp_path / "log"
    log.write_bytes(lines([arrival(at / 10, at / 10) for at in range(50)]))
    assert main(["--limit", "3", str(log)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 5
    assert shown[3] == "and 46 more"


def test_the_command_does_not_call_nothing_polite(tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.write_bytes(b"noise\n")
    assert main([str(empty)]) == 2
    assert "nothing to judge: 1 bad lines" in capsys.readouterr().err
    assert main([str(tmp_path / "none")]) == 2
    assert "cannot read" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "a.test=", "a.test=soon"])
def test_the_command_refuses_a_wrong_delay(value, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--delay", value, "x"])
    assert stopped.value.code == 2
    assert "is not SECONDS or HOST=SECONDS" in capsys.readouterr().err


def test_the_command_reads_standard_input_without_warnings():
    process = subprocess.run(
        [sys.executable, "-W", "error", "-m", "webcrawler.sampleweb.audit", "-"],
        input=lines([arrival(0), arrival(3)]),
        capture_output=True,
    )
    assert (process.returncode, process.stderr) == (0, b"")


# From the outside in


def fetch(server, port, host, path="/"):
    connection = http.client.HTTPConnection(server, port, timeout=20)
    connection.request("GET", path, headers={"Host": host})
    connection.getresponse().read()
    connection.close()


def test_a_hasty_client_of_the_sample_web_is_caught():
    web = SampleWeb.plain(hosts=2, pages=4)
    with SampleServer(web, addresses=("127.0.0.1", "127.0.0.2")) as server:
        for _ in range(2):
            for host, address in server.dns.items():
                fetch(address, server.port, host)
        report = audit(server.arrivals, 30.0)
        assert len(report.violations) == 2
        assert audit(server.arrivals, 0.0).is_polite
        assert len(report.refetched) == 2
        assert report.addresses == 2


def test_a_real_nginx_log_is_read(tmp_path):
    nginx = program("nginx")
    with SampleServer(SampleWeb.plain(hosts=1, pages=1)) as probe:
        port = probe.port  # free again in a moment
    (tmp_path / "x").write_bytes(b"hello")
    config = tmp_path / "nginx.conf"
    config.write_text(
        f"""
daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/error;
events {{}}
http {{
  log_format arrivals '$msec $request_time $host $server_addr $remote_addr $connection '
                      '$status $body_bytes_sent $request_method $request_uri '
                      '"$http_user_agent"';
  access_log {tmp_path}/log arrivals;
  client_body_temp_path {tmp_path}/a; proxy_temp_path {tmp_path}/b;
  fastcgi_temp_path {tmp_path}/c; uwsgi_temp_path {tmp_path}/d; scgi_temp_path {tmp_path}/e;
  server {{ listen 127.0.0.1:{port}; root {tmp_path}; }}
}}
"""
    )
    process = subprocess.Popen([nginx, "-p", tmp_path, "-c", config])
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                fetch("127.0.0.1", port, "A.test", "/x")
                break
            except ConnectionRefusedError:
                continue
        fetch("127.0.0.1", port, "a.test", "/x?y=1")
        fetch("127.0.0.1", port, "b.test", "/none")
    finally:
        process.terminate()
        process.wait(20)
    with (tmp_path / "log").open("rb") as file:
        arrivals = list(read_arrivals(file))
    assert [(one.host, one.path, one.status) for one in arrivals] == [
        ("a.test", "/x", 200),
        ("a.test", "/x?y=1", 200),
        ("b.test", "/none", 404),
    ]
    assert {one.server for one in arrivals} == {"127.0.0.1"}
    assert abs(arrivals[0].arrived_at - time.time()) < 60
    report = audit(arrivals, 30.0)
    assert [violation.url for violation in report.violations] == ["http://a.test/x?y=1"]
