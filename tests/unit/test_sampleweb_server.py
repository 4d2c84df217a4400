"""The sample web's server: HTTP/1.1 as clients of all manners speak it, and every arrival noted."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from email.utils import formatdate

import pytest

from webcrawler.sampleweb import Arrival, SampleServer, SampleWeb, kinds
from webcrawler.sampleweb.__main__ import main
from webcrawler.sampleweb.logs import read_arrivals

PLAIN = SampleWeb.plain(hosts=3, pages=30)
RICH = SampleWeb(
    hosts=14, pages=300, slow_secs=0.05, resets=0.02, truncated=0.02, slow=0.02, gzip=0.5
)


@pytest.fixture(params=[True, False], ids=["uvloop", "asyncio"])
def plain(request):
    with SampleServer(PLAIN, use_uvloop=request.param) as server:
        yield server


@pytest.fixture(params=[True, False], ids=["uvloop", "asyncio"])
def rich(request):
    with SampleServer(RICH, use_uvloop=request.param) as server:
        yield server


def connect(server: SampleServer) -> socket.socket:
    return socket.create_connection((server.addresses[0], server.port), timeout=20)


def client(server: SampleServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(server.addresses[0], server.port, timeout=20)


def get(server, path="/", host=0, method="GET", **headers):
    """One request on a connection of its own: status, headers, body."""
    name = server.web.host_names[host] if isinstance(host, int) else host
    sent = {"Host": name, **{key.replace("_", "-"): value for key, value in headers.items()}}
    with closing(client(server)) as connection:
        connection.request(method, path, headers=sent)
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def raw(server: SampleServer, data: bytes) -> bytes:
    """Everything the server says to these bytes until it closes; our half is closed first."""
    with connect(server) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        return read_all(sock)


def read_all(sock: socket.socket) -> bytes:
    parts = []
    while part := sock.recv(65536):
        parts.append(part)
    return b"".join(parts)


def request(server: SampleServer, path="/", *lines: str) -> bytes:
    head = [f"GET {path} HTTP/1.1", f"Host: {server.web.host_names[0]}", *lines]
    return "\r\n".join([*head, "", ""]).encode()


def find(server: SampleServer, kind: str, turn: int = 0) -> tuple[str, str]:
    """Host name and path of the turn-th page of a kind."""
    web = server.web
    for place in web.places():
        if web.plan.kind(place) == kind and web.plan.turn(place) == turn:
            return web.host_names[place.host], web.plan.card(place).path
    raise LookupError(kind)


# Pages


def test_pages_are_told_apart_by_host(plain):
    bodies = {get(plain, host=host)[2] for host in range(3)}
    assert len(bodies) == 3
    assert get(plain, host=0)[2] == plain.web.respond(plain.web.host_names[0], "/").body


@pytest.mark.parametrize("name", ["{}", "{}:80", "{}.", "{}:1."])
def test_ways_to_write_a_host(plain, name):
    host = plain.web.host_names[1]
    assert get(plain, host=name.format(host.upper()))[2] == get(plain, host=1)[2]


def test_an_unknown_host_is_misdirected(plain):
    assert get(plain, host="elsewhere.test")[0] == 421


def test_the_absolute_form_of_a_target_wins_over_the_host_header(plain):
    target = f"http://{plain.web.host_names[1]}:{plain.port}/"
    assert raw(plain, request(plain, target)).endswith(get(plain, host=1)[2])


def test_head_gives_the_head_alone(plain):
    status, headers, body = get(plain, method="HEAD")
    full = get(plain)
    assert (status, body) == (200, b"")
    assert headers["Content-Length"] == str(len(full[2]))
    assert headers["ETag"] == full[1]["ETag"]


def test_conditional_requests(plain):
    _, headers, body = get(plain)
    etag, modified = headers["ETag"], headers["Last-Modified"]
    later = formatdate(4e9, usegmt=True)
    earlier = formatdate(0, usegmt=True)
    for condition, status in [
        ({"If_None_Match": etag}, 304),
        ({"If_None_Match": f'"other", W/{etag}'}, 304),
        ({"If_None_Match": "*"}, 304),
        ({"If_None_Match": '"other"'}, 200),
        ({"If_Modified_Since": modified}, 304),
        ({"If_Modified_Since": later}, 304),
        ({"If_Modified_Since": earlier}, 200),
        ({"If_Modified_Since": "the day before yesterday"}, 200),
        ({"If_None_Match": '"other"', "If_Modified_Since": later}, 200),
    ]:
        answer = get(plain, **condition)
        assert answer[0] == status, condition
        assert answer[2] == (b"" if status == 304 else body)
        assert answer[1]["ETag"] == etag
    assert get(plain, "/none", If_None_Match="*")[0] == 404


def test_gzip_for_those_who_accept_it(rich):
    web = rich.web
    compressed = next(
        url for url, _ in web.truth().resources.items() if response_at(web, url).is_compressed
    )
    host, path = parts(compressed)
    status, headers, body = get(rich, path, host)
    assert (status, headers["Content-Encoding"]) == (200, None)
    for accepted in ("gzip", "br, gzip;q=0.5", "deflate,GZIP"):
        answer = get(rich, path, host, Accept_Encoding=accepted)
        assert answer[1]["Content-Encoding"] == "gzip"
        assert gzip.decompress(answer[2]) == body
        assert answer[1]["ETag"] != headers["ETag"]
        assert "Accept-Encoding" in answer[1]["Vary"]
    for accepted in ("gzip;q=0", "br", "xgzip", "gzip;q=0.0"):
        assert get(rich, path, host, Accept_Encoding=accepted)[2] == body


def response_at(web, url):
    return web.respond(*parts(url))


def parts(url: str) -> tuple[str, str]:
    authority, _, rest = url.removeprefix("http://").partition("/")
    return authority.partition(":")[0], "/" + rest


def test_redirects_lead_to_this_server(rich):
    statuses = set()
    for url, target in rich.web.truth().redirects.items():
        host, path = parts(url)
        status, headers, _ = get(rich, path, host)
        statuses.add(status)
        location = headers["Location"]
        assert target == (location if location.startswith("http") else rich.url(host, location))
    assert statuses >= {301, 302, 307, 308}


# Bad manners of the server, on purpose


def test_a_reset(rich):
    host, path = find(rich, kinds.RESET)
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        get(rich, path, host)
    noted = rich.arrivals[-1]
    assert (noted.path, noted.status, noted.is_complete) == (path, 0, False)


def test_a_truncated_body(rich):
    host, path = find(rich, kinds.TRUNCATED)
    with pytest.raises(http.client.IncompleteRead):
        get(rich, path, host)
    assert not rich.arrivals[-1].is_complete


def test_a_flaky_page_fails_first_and_then_works_for_good(rich):
    for turn, failure in enumerate(kinds.FLAKY_ANSWERS):
        host, path = find(rich, kinds.FLAKY, turn)
        for _ in range(RICH.flaky_failures):
            if failure:
                assert get(rich, path, host)[0] == failure
            else:
                with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
                    get(rich, path, host)
        assert [get(rich, path, host)[0] for _ in range(3)] == [200, 200, 200]


@pytest.mark.parametrize("turn", [0, 1], ids=["before", "in the middle"])
def test_a_slow_page_takes_its_time(rich, turn):
    host, path = find(rich, kinds.SLOW, turn)
    status, _, body = get(rich, path, host)
    assert (status, body) == (200, rich.web.respond(host, path).body)
    noted = rich.arrivals[-1]
    assert noted.ended_at - noted.arrived_at > 0.04
    assert noted.is_complete


def test_a_client_that_leaves_while_it_waits_is_noted_at_once():
    web = SampleWeb.plain(hosts=2, pages=20, slow=0.1, slow_secs=600)
    with SampleServer(web) as server:
        host, path = find(server, kinds.SLOW)
        with connect(server) as sock:
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            wait_until(lambda: server.open_connections == 1)
        wait_until(lambda: server.arrivals)
        assert not server.arrivals[0].is_complete
        assert server.arrivals[0].path == path


def wait_until(condition) -> None:
    """Ask again until it holds; the server's answer to each question is the pause."""
    for _ in range(100_000):
        if condition():
            return
    raise AssertionError("it never came true")


# Clients of all manners


def test_a_connection_is_kept_alive(plain):
    with closing(client(plain)) as connection:
        for path in ("/", "/none", "/robots.txt", "/"):
            connection.request("GET", path, headers={"Host": plain.web.host_names[0]})
            connection.getresponse().read()
    arrivals = plain.arrivals
    assert [arrival.path for arrival in arrivals] == ["/", "/none", "/robots.txt", "/"]
    assert len({arrival.connection for arrival in arrivals}) == 1
    get(plain)
    assert plain.arrivals[-1].connection != arrivals[0].connection


def test_http_1_0_and_connection_close(plain):
    host = plain.web.host_names[0]
    for lines in (
        ["GET / HTTP/1.0", f"Host: {host}"],
        ["GET / HTTP/1.1", f"Host: {host}", "Connection: close"],
    ):
        with connect(plain) as sock:
            sock.sendall("\r\n".join([*lines, "", ""]).encode())
            answer = read_all(sock)  # ends only because the server closes
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Connection: close\r\n" in answer
    kept = f"GET / HTTP/1.0\r\nHost: {host}\r\nConnection: keep-alive\r\n\r\n".encode()
    assert raw(plain, kept * 2).count(b"HTTP/1.1 200 OK") == 2


def test_pipelined_requests_are_answered_in_order(rich):
    host, slow = find(rich, kinds.SLOW)
    paths = ["/robots.txt", slow, "/none", "/"]
    with connect(rich) as sock:
        sock.sendall(
            "".join(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n" for path in paths).encode()
        )
        file = sock.makefile("rb")
        for path in paths:
            expected = rich.web.respond(host, path)
            assert int(file.readline().split()[1]) == expected.status
            headers = http.client.parse_headers(file)
            assert file.read(int(headers["Content-Length"])) == expected.body
    arrivals = rich.arrivals
    assert [arrival.path for arrival in arrivals] == paths
    # They overlap: each came before the one before it had ended.
    for first, second in itertools.pairwise(arrivals[1:]):
        assert second.arrived_at < first.ended_at


def test_a_request_that_comes_while_another_is_answered_is_noted_as_overlapping(rich):
    host, slow = find(rich, kinds.SLOW)
    with connect(rich) as sock:
        for path in (slow, "/none"):
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            wait_until(lambda: rich.open_connections == 1)
        sock.recv(100)
        wait_until(lambda: len(rich.arrivals) == 2)
    first, second = rich.arrivals
    assert first.arrived_at <= second.arrived_at < first.ended_at


def test_a_request_byte_by_byte(plain):
    with connect(plain) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request(plain, "/", "Connection: close"):
            sock.sendall(bytes([byte]))
        assert read_all(sock).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET / HTTP/1.1 again\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\n\r\n", 400),
        (b"G=T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        (b"GET / FTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nbad name: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100_000, 431),
        (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        (b"PUT / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        (b"GET /\xff\x00\xfe HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n", 421),
    ],
)
def test_malformed_requests_get_an_answer_and_the_server_lives(plain, data, status):
    try:
        assert raw(plain, data).startswith(b"HTTP/1.1 %d " % status)
    except OSError:
        # We may still have been sending when the server had heard enough: the connection is
        # reset, or (before our half is closed) not connected any more.
        assert len(data) > 50_000
    assert plain.arrivals[-1].status == status
    assert get(plain)[0] == 200


def test_nothing_but_line_ends_is_no_request(plain):
    assert raw(plain, b"\r\n\r\n\r\n") == b""
    assert raw(plain, b"\r\n" + request(plain)).startswith(b"HTTP/1.1 200")
    assert raw(plain, request(plain)[:-5]) == b""
    assert len(plain.arrivals) == 1


def test_a_body_is_skipped_and_the_next_request_answered(plain):
    host = plain.web.host_names[0]
    post = f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 40\r\n\r\n".encode()
    body = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n".ljust(40)
    answers = raw(plain, post + body + request(plain))
    assert [arrival.status for arrival in plain.arrivals] == [405, 200]
    assert b"Allow: GET, HEAD\r\n" in answers


def test_many_connections_at_once(plain):
    sockets = [connect(plain) for _ in range(400)]
    try:
        wait_until(lambda: plain.open_connections == 400)
        for sock in sockets:
            sock.sendall(request(plain, "/", "Connection: close"))
        for sock in sockets:
            assert read_all(sock).startswith(b"HTTP/1.1 200")
    finally:
        for sock in sockets:
            sock.close()
    assert len({arrival.connection for arrival in plain.arrivals}) == 400


@pytest.mark.parametrize("use_uvloop", [True, False])
def test_who_is_too_slow_is_shown_the_door(use_uvloop):
    with SampleServer(PLAIN, idle_secs=0.1, request_secs=0.1, use_uvloop=use_uvloop) as server:
        with connect(server) as idle, connect(server) as slow:
            slow.sendall(b"GET / HT")
            assert read_all(idle) == b""
            assert read_all(slow).startswith(b"HTTP/1.1 408 ")
        assert [arrival.status for arrival in server.arrivals] == [408]


@pytest.mark.parametrize("use_uvloop", [True, False])
def test_an_answer_ends_when_its_last_byte_has_gone_out(use_uvloop):
    web = SampleWeb.plain(hosts=1, pages=1, robots=("big",))
    with SampleServer(web, use_uvloop=use_uvloop) as server:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.port))
        with sock:
            # More than all buffers on the way can hold, so that the last one cannot be finished.
            sock.sendall(request(server, "/robots.txt") * 40)
            sock.recv(100)
            assert len(server.arrivals) < 40
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(1 << 20):
                pass
        wait_until(lambda: len(server.arrivals) == 40)
        assert all(arrival.is_complete for arrival in server.arrivals)
        ends = [arrival.ended_at for arrival in server.arrivals]
        assert ends == sorted(ends)


@pytest.mark.parametrize("use_uvloop", [True, False])
def test_a_client_that_does_not_read_cannot_hold_a_connection_for_ever(use_uvloop):
    web = SampleWeb.plain(hosts=1, pages=1, robots=("big",))
    server = SampleServer(web, use_uvloop=use_uvloop, request_secs=0.1)
    with server, connect(server) as sock:
        sock.sendall(request(server, "/robots.txt") * 40)
        wait_until(lambda: server.arrivals and not server.arrivals[-1].is_complete)
        assert server.open_connections == 0


# Arrivals


def test_an_arrival_is_noted_with_everything(plain):
    get(plain, "/x?y=1", host=2, User_Agent="tester/1")
    (arrival,) = plain.arrivals
    assert arrival == Arrival(
        host=plain.web.host_names[2],
        path="/x?y=1",
        status=404,
        arrived_at=arrival.arrived_at,
        ended_at=arrival.ended_at,
        client="127.0.0.1",
        server="127.0.0.1",
        connection=1,
        method="GET",
        size=len(plain.web.respond(plain.web.host_names[2], "/x").body),
        agent="tester/1",
        is_complete=True,
    )
    assert arrival.arrived_at <= arrival.ended_at


def test_arrivals_are_written_unbuffered_and_appended(tmp_path):
    path = tmp_path / "arrivals.jsonl"
    for round_ in (1, 2):
        with SampleServer(PLAIN, log=path) as server:
            get(server)
            get(server, "/none")
            assert len(server.arrivals) == 2
            assert len(path.read_bytes().splitlines()) == 2 * round_
            expected = server.arrivals
    with path.open("rb") as file:
        assert list(read_arrivals(file))[-2:] == expected


@pytest.mark.parametrize(("keep", "kept"), [(0, []), (2, ["/2", "/3"]), (None, ["/1", "/2", "/3"])])
def test_memory_is_bounded_by_choice(keep, kept):
    with SampleServer(PLAIN, keep=keep) as server:
        for path in ("/1", "/2", "/3"):
            get(server, path)
        assert [arrival.path for arrival in server.arrivals] == kept
        assert server.log.count == 3


def test_the_clock_is_given():
    ticks = iter(range(1000))
    with SampleServer(PLAIN, clock=lambda: float(next(ticks))) as server:
        get(server)
        get(server)
        first, second = server.arrivals
    assert first.arrived_at < first.ended_at < second.arrived_at < second.ended_at
    assert second.ended_at < 20


def test_rendered_answers_are_kept_within_bounds():
    web = SampleWeb.plain(hosts=1, pages=200)
    with SampleServer(web, cache_bytes=50_000) as server:
        for page in range(200):
            path = web.plan.card(web.places()[page]).path
            assert get(server, path)[2] == server.web.respond(web.host_names[0], path).body
        assert server._service._room >= 0
        assert 0 < len(server._service._answers) < 50


# Starting and stopping


def test_several_addresses_share_a_port():
    addresses = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
    with SampleServer(PLAIN, addresses=addresses) as server:
        assert sorted(server.dns.values()) == sorted(addresses)
        for host, address in server.dns.items():
            connection = http.client.HTTPConnection(address, server.port, timeout=20)
            with closing(connection):
                connection.request("GET", "/", headers={"Host": host})
                assert connection.getresponse().status == 200
            assert server.arrivals[-1].server == address


def test_stopping_ends_connections_and_frees_the_port():
    server = SampleServer(PLAIN).start()
    with connect(server) as sock:
        sock.sendall(request(server))
        sock.recv(10)
        server.stop()
        with contextlib.suppress(ConnectionResetError):
            read_all(sock)  # ends
    server.stop()
    assert len(server.arrivals) == 1
    with SampleServer(PLAIN, port=server.port) as again:
        assert again.port == server.port
        with pytest.raises(OSError):
            SampleServer(PLAIN, port=server.port)


def test_a_server_that_was_never_started_can_be_stopped():
    SampleServer(PLAIN).stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_until_a_signal(tmp_path, number):
    log, truth = tmp_path / "log", tmp_path / "truth"
    command = [
        *(sys.executable, "-m", "webcrawler.sampleweb", "--plain", "--hosts", "3"),
        *("--pages", "30", "--log", log, "--truth", truth, "--set", "redirects=0.1"),
        *("--set", "robots=allow,everything", "--address", "127.0.0.1"),
        *("--address", "127.0.0.2"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            told = json.loads(process.stdout.readline())
            web = SampleWeb.plain(
                hosts=3, pages=30, redirects=0.1, robots=("allow", "everything"), port=told["port"]
            )
            assert told["seeds"] == list(web.seed_urls)
            assert told["dns"] == web.dns(("127.0.0.1", "127.0.0.2"))
            assert told["hosts"] == list(web.host_names)
            assert json.loads(truth.read_text()) == json.loads(json.dumps(web.truth().as_json()))
            with closing(http.client.HTTPConnection("127.0.0.2", told["port"], timeout=20)) as c:
                c.request("GET", "/", headers={"Host": web.host_names[1]})
                assert c.getresponse().read() == web.respond(web.host_names[1], "/").body
        finally:
            os.kill(process.pid, number)
        assert process.wait(20) == 0
    assert len(log.read_bytes().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--hosts", "0"], "hosts=0"),
        (["--set", "redirects"], "NAME=VALUE"),
        (["--set", "nothing=1"], "NAME=VALUE"),
        (["--set", "redirects=many"], "0.06"),
        (["--set", "odd_links=maybe"], "true"),
        (["--port", "99999"], "port"),
        (["--log", "/nowhere/at/all"], "/nowhere/at/all"),
        (["--address", "203.0.113.1"], "address"),
    ],
)
def test_the_command_refuses_with_one_sentence(arguments, word, capsys):
    try:
        code = main(arguments)
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert word in capsys.readouterr().err
