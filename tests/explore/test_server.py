"""Who may ask, what every answer says of itself, and the end."""

import http.client
import json
import socket

import pytest

from bigtopic.errors import MissingExtra, SettingError

from .conftest import PAGE


@pytest.fixture(scope="session")
def theta(stores):
    return stores("source")


def test_the_page(client):
    answer = client.request("GET", "/")
    assert answer.status == 200 and answer.body.decode() == PAGE
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert (
        "script-src 'sha256-" in policy and "unsafe-eval" not in policy and "script-src 'unsafe" not in policy
    )


def test_headers(client):
    for path in ("/", "/api/model", "/api/topic/99", "/nowhere"):
        headers = client.request("GET", path).headers
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer" and "Content-Security-Policy" in headers
        assert "Server" not in headers and "Access-Control-Allow-Origin" not in headers


def test_a_cookie_for_the_token(client):
    answer = client.request("GET", f"/?{client.address.query}")
    cookie = answer.headers["Set-Cookie"]
    assert answer.status == 302 and answer.headers["Location"] == "/"
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    came = client.request("GET", f"/?{client.address.query}", Sec_Fetch_Site="cross-site")
    assert came.status == 200 and came.headers["Refresh"] == "0; url=/" and "Set-Cookie" in came.headers


@pytest.mark.parametrize("cookie", ["", "bigtopic=x", "{name}=", "{name}=wrong", "{name}=é"])
@pytest.mark.parametrize("path", ["/", "/?token=wrong", "/?token=", "/api/model", "/api/model?{token}", "/x"])
def test_without_the_token(client, path, cookie):
    name = client.cookie.partition("=")[0]
    headers = {"Cookie": cookie.format(name=name).encode()}
    answer = client.request("GET", path.format(token=client.address.query), **headers)
    assert answer.status == 403 and "Set-Cookie" not in answer.headers
    assert "address that was printed" in json.loads(answer.body)["error"]
    answer = client.request("POST", "/api/rename", "{}", X_Bigtopic="1", **headers)
    assert answer.status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{port}"]
)
def test_another_host(client, host):
    for path in ("/api/model", "/", f"/?{client.address.query}"):
        assert client.request("GET", path, Host=host.format(port=client.address.port)).status == 403


def test_hosts(client):
    for name in ("127.0.0.1", "localhost"):
        assert client.request("GET", "/api/model", Host=f"{name}:{client.address.port}").status == 200


def test_changes_come_from_the_page(client):
    body = json.dumps({"topic": 1, "label": "x"})
    own = f"http://127.0.0.1:{client.address.port}"
    for headers in (
        {},
        {"X_Bigtopic": "0"},
        {"Origin": own},
        {"X_Bigtopic": "1", "Origin": "http://evil.example"},
        {"X_Bigtopic": "1", "Origin": "null"},
        {"X_Bigtopic": "1", "Origin": f"http://localhost:{client.address.port}"},
        {"X_Bigtopic": "1", "Origin": "http://127.0.0.1:1"},
    ):
        assert client.request("POST", "/api/rename", body, **headers).status == 403
    assert client.answer("model")["revision"] == 0
    assert client.request("POST", "/api/rename", body, X_Bigtopic="1", Origin=own).status == 200


@pytest.mark.parametrize("body", ["", "{", "[]", "3", "null", '"x"', "\xff", "[" * 100_000])
def test_bodies_that_are_not_an_object(client, body):
    answer = client.request("POST", "/api/rename", body.encode("latin-1"), X_Bigtopic="1")
    assert answer.status == 400 and "error" in json.loads(answer.body)


def test_addresses(client):
    for method, path, status in (
        ("GET", "/api/nope", 404),
        ("GET", "/api/topic/1/nope", 404),
        ("GET", "/../etc/passwd", 404),
        ("GET", "/api/rename", 405),
        ("POST", "/api/model", 405),
        ("PUT", "/api/model", 405),
        ("DELETE", "/", 405),
        ("GET", "/api/words?q=%ff", 400),
        ("GET", "/api/documents?where=%ff", 400),
    ):
        answer = client.request(method, path, X_Bigtopic="1")
        assert answer.status == status, path
        assert "error" in json.loads(answer.body)


def test_large_bodies(client):
    with pytest.raises((OSError, http.client.HTTPException, AssertionError)):
        answer = client.request("POST", "/api/rename", b" " * (1 << 21), X_Bigtopic="1")
        assert answer.status == 200
    assert client.answer("model")["revision"] == 0


def test_an_error_of_the_server(exploration, monkeypatch, caplog):
    def fail():
        raise RuntimeError("of the server")

    monkeypatch.setattr(exploration.explorer, "model", fail)
    answer = exploration.client.request("GET", "/api/model")
    assert answer.status == 500 and "of the server" not in answer.body.decode()
    assert "of the server" in caplog.text


def test_many_at_once(client):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        asked = [f"topic/{k % 5}/documents" for k in range(40)] + ["documents"] * 40
        found = [*pool.map(lambda path: client.answer(path, **({} if "/" in path else {"q": "w3"})), asked)]
    assert found[:5] == found[5:10] and all(one == found[40] for one in found[40:])


def test_only_this_machine(exploration):
    address = exploration.client.address
    assert address.hostname == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for other in others - {"127.0.0.1"}:
        with pytest.raises(OSError):
            socket.create_connection((other, address.port), timeout=2)


def test_a_port_that_is_taken(exploration, model, asked, theta):
    with pytest.raises(SettingError, match="give another one, or 0"):
        model.explore(asked, theta=theta, port=exploration.port)
    for port in (70_000, -1, "x", True):
        with pytest.raises(SettingError, match="to 65535"):
            model.explore(asked, theta=theta, port=port)


def test_the_end(explored, model, asked, theta):
    exploration = explored(model, asked, theta)
    assert exploration.url in repr(exploration)
    shown = exploration._repr_html_()
    assert f'href="{exploration.url}"' in shown and "noopener" in shown
    exploration.client.edit("merge", topics=[0, 1])
    exploration.close()
    exploration.close()
    assert "closed" in exploration._repr_html_() and "closed" in repr(exploration)
    with pytest.raises(OSError):
        exploration.client.answer("model")


def test_a_model_explores(model, asked, theta, index_folder):
    with model.explore(asked, theta=theta, index=index_folder, title="Mine") as exploration:
        assert exploration.url.startswith("http://127.0.0.1:")
        connection = http.client.HTTPConnection("127.0.0.1", exploration.port)
        connection.request("GET", "/")
        assert connection.getresponse().status == 403
        connection.close()


def test_a_page_that_cannot_be_drawn(model, asked, theta, tmp_path, monkeypatch):
    """It is noticed before an index is made."""

    def missing():
        raise MissingExtra("no bokeh")

    monkeypatch.setattr("bigtopic.report.explorer_page", missing)
    with pytest.raises(MissingExtra):
        model.explore(asked, theta=theta, index=tmp_path / "indexes")
    assert not (tmp_path / "indexes").exists()
