"""The server of an exploration: on this machine only, for those who have its address with the token in it.

The first request brings the token, and gets a cookie for it that pages of other sites cannot use. A request must be for
the address that the server listens on, so that no name of another site leads here; a change must come from the page
itself. Answers may not be framed, stored, or taken for something else than what they are.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler

from bigtopic.errors import BigtopicError, SettingError, argument
from bigtopic.explore.edits import SavedModel
from bigtopic.explore.explorer import Explorer
from bigtopic.explore.index import index_of
from bigtopic.support.cards import link
from bigtopic.support.numbers import is_whole

__all__ = ["Exploration", "explore", "listening_at"]

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_EDITS = ("rename", "merge", "undo", "save")
_MOST_BYTES = 1 << 20  # of a request
_THREADS = 4
_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
_NONE = "'none'"
_PATIENCE = 10.0  # seconds that the end may take
_ENTERING = "<!doctype html><title>Topics</title><p><a href='/'>Topics</a></p>"
_FORBIDDEN = "open the address that was printed when the server was started, with its token"


def listening_at(port: int) -> socket.socket:
    """The socket of a server, on this machine only.

    Raises
    ------
    SettingError
        When the port is taken, or is not one.
    """
    if not is_whole(port) or not 0 <= port < 1 << 16:
        raise SettingError(f"{argument('port', port)}: give a number from 0, for any that is free, to 65535")
    try:
        found = socket.create_server((HOST, port))
    except OSError as error:
        raise SettingError(
            f"{argument('port', port)} cannot be used ({error}); give another one, or 0 for any that is free"
        ) from error
    found.setblocking(False)
    return found


def explore(
    model: Any,
    corpus: Any,
    theta: Any,
    open_theta: Callable[[Any], Any],
    *,
    port: int,
    folder: Any,
    title: str,
    model_path: str | None,
) -> Exploration:
    """Begin an exploration. What could be missing is looked for before the index is made, which may take long.

    Parameters
    ----------
    model, corpus, theta, open_theta, folder : see `index_of`
    port : of the server; 0 for any that is free
    title : see `Explorer`
    model_path : where the model is saved; None if that is not known

    Raises
    ------
    SettingError, StoreError
        As `listening_at` and `index_of`.
    MissingExtra
        When what draws the page is not installed.
    """
    from bigtopic.report import explorer_page

    saved = None if model_path is None else SavedModel(model, model_path)
    page, listening = explorer_page(), listening_at(port)
    try:
        index = index_of(model, corpus, theta, open_theta, folder)
    except BaseException:
        listening.close()
        raise
    explorer = Explorer(model, index, title=title, saved=saved)
    return Exploration(explorer, listening, page)


class Exploration:
    """A server that runs in a thread of its own; a notebook shows a link.

    Parameters
    ----------
    listening : see `listening_at`
    page : HTML

    Attributes
    ----------
    url : its address, with the token
    """

    def __init__(self, explorer: Explorer, listening: socket.socket, page: str) -> None:
        self._explorer, self._page = explorer, page
        self._token = secrets.token_urlsafe()
        self.port: int = listening.getsockname()[1]
        self.url = f"http://{HOST}:{self.port}/?token={self._token}"
        self._begun = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(listening,), name="bigtopic-explore", daemon=True
        )
        self._thread.start()
        self._begun.wait()

    def _run(self, listening: socket.socket) -> None:
        try:
            asyncio.run(self._serve(listening))
        finally:
            self._begun.set()

    async def _serve(self, listening: socket.socket) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        with ThreadPoolExecutor(_THREADS, "bigtopic-answers") as pool:
            server = HTTPServer(
                _application(self._explorer, self._page, self._token, self.port, pool),
                max_body_size=_MOST_BYTES,
            )
            server.add_socket(listening)
            self._begun.set()
            await self._ended.wait()
            server.stop()
            await server.close_all_connections()

    @property
    def model(self) -> Any:
        """An estimator with the topics as they are now, with their labels."""
        return self._explorer.edited_model

    def wait(self) -> None:
        """Until the server ends."""
        while self._thread.is_alive():
            self._thread.join(1.0)  # a signal is noticed between two of them on every system

    def close(self) -> None:
        """End the server; changes that were not saved are lost."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(_PATIENCE)
            self._explorer.close()

    def __enter__(self) -> Exploration:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Exploration({self.url})" if self._thread.is_alive() else "Exploration(closed)"

    def _repr_html_(self) -> str:
        if not self._thread.is_alive():
            return "<p>This exploration is closed.</p>"
        return f"<p>{link('Explore the topics', self.url)} (on the machine that the notebook runs on)</p>"


def _application(
    explorer: Explorer, page: str, token: str, port: int, pool: ThreadPoolExecutor
) -> Application:
    own = {
        "explorer": explorer,
        "token": token,
        "cookie": f"bigtopic-{port}",  # browsers send the cookies of all ports
        "hosts": [f"{name}:{port}" for name in _NAMES],
        "pool": pool,
    }
    routes = [
        (r"/", _Page, {**own, "page": page, "policy": _policy(page)}),
        (r"/api/(model|words|documents|document)", _Answer, own),
        (r"/api/(topic)/([^/]+)", _Answer, own),
        (r"/api/topic/([^/]+)/(documents|time|groups)", _AnswerAboutTopic, own),
        (rf"/api/({'|'.join(_EDITS)})", _Edit, own),
        (r"/.*", _Nothing, own),
    ]
    return Application(routes, log_function=lambda _: None)


class _Handler(RequestHandler):
    """What all requests have in common."""

    def initialize(
        self, explorer: Explorer, token: str, cookie: str, hosts: list[str], pool: ThreadPoolExecutor
    ) -> None:
        self.explorer, self.pool = explorer, pool
        self._token, self._cookie, self._hosts = token, cookie, hosts

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in {
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
        }.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        if self.request.host not in self._hosts:
            raise HTTPError(403, reason="Forbidden")
        if not self._is_known(self.get_cookie(self._cookie) or "") and not self._enters():
            raise HTTPError(403, reason="Forbidden")

    def _is_known(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self._token.encode())

    def _enters(self) -> bool:
        """Whether the request brings the token."""
        return False

    def answer(self, found: Any, status: int = 200) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(json.dumps(found, allow_nan=False))

    async def computed(self, ask: Callable[[], Any]) -> None:
        """Answer with what a function says, called in another thread; what it refuses is the client's mistake."""
        try:
            found = await asyncio.get_running_loop().run_in_executor(self.pool, ask)
        except BigtopicError as error:
            self.answer({"error": str(error)}, 400)
        else:
            self.answer(found)

    def write_error(self, status_code: int, **_: Any) -> None:
        errors = {
            400: "the request cannot be read; load the page again",
            403: _FORBIDDEN,
            404: "there is nothing at this address; load the page again",
            405: "this address takes no such request; load the page again",
        }
        text = errors.get(status_code, "the server failed; its reason is where it was started")
        self.answer({"error": text}, status_code)

    # ------------------------------------------------------------------ parts of a question

    def text(self, name: str) -> str | None:
        """A part of the query as it was typed; None where it is not there."""
        found = self.get_query_arguments(name, strip=False)
        return found[-1] if found else None

    def given(self, *names: str) -> dict[str, str]:
        """The parts of the query that are there."""
        return {name: value for name in names if (value := self.text(name)) is not None}

    def where(self) -> list[str]:
        return self.get_query_arguments("where", strip=False)


class _Page(_Handler):
    """The page."""

    def initialize(self, page: str, policy: str, **own: Any) -> None:  # type: ignore[override]
        super().initialize(**own)
        self._page, self._policy = page, policy

    def _enters(self) -> bool:
        return self.request.method == "GET" and self._is_known(self.text("token") or "")

    def get(self) -> None:
        if self._enters():
            self.set_cookie(self._cookie, self._token, path="/", httponly=True, samesite="Strict")
            if self.request.headers.get("Sec-Fetch-Site") != "cross-site":
                self.redirect("/")
                return
            # A browser that comes by a link on another site would not send the cookie after a redirect.
            self.set_header("Refresh", "0; url=/")
            self.finish(_ENTERING)
            return
        self.set_header("Content-Security-Policy", self._policy)
        self.finish(self._page)


def _policy(page: str) -> str:
    """What a page may do: run its own scripts, known by their hashes, and ask this server."""
    digests = (hashlib.sha256(script.encode()).digest() for script in _SCRIPT.findall(page))
    scripts = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {scripts or _NONE}; style-src 'unsafe-inline'; img-src data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class _Answer(_Handler):
    """Answers about the model, words and documents."""

    async def get(self, name: str, topic: str = "") -> None:
        own, query = self.explorer, partial(self.given)
        ask: Mapping[str, Callable[[], Any]] = {
            "model": own.model,
            "topic": lambda: own.topic(_topic(topic)),
            "words": lambda: own.words(self.text("q") or "", **query("n")),
            "documents": lambda: own.documents(
                self.text("q") or "", _topic(self.text("topic") or None), self.where(), **query("n", "offset")
            ),
            "document": lambda: own.document(self.text("id"), self.text("row")),
        }
        await self.computed(ask[name])


class _AnswerAboutTopic(_Handler):
    """Answers about one topic."""

    async def get(self, topic: str, name: str) -> None:
        own, k = self.explorer, _topic(topic)
        if name == "time":
            await self.computed(lambda: own.time(k, self.text("freq") or None))
        elif name == "groups":
            await self.computed(lambda: own.groups(k, self.text("column") or ""))
        else:
            await self.computed(self._documents_of(k))

    def _documents_of(self, topic: Any) -> Callable[[], Any]:
        def ask() -> Any:
            found, complete = self.explorer.topic_documents(topic, where=self.where(), **self.given("n"))
            self.set_header("X-Bigtopic-Complete", "yes" if complete else "no")
            return found

        return ask


class _Edit(_Handler):
    """Changes."""

    async def post(self, name: str) -> None:
        origin = self.request.headers.get("Origin")
        if (
            origin not in (None, f"http://{self.request.host}")
            or self.request.headers.get("X-Bigtopic") != "1"
        ):
            raise HTTPError(403, reason="Forbidden")
        try:
            body = json.loads(self.request.body or b"{}")
        except (ValueError, RecursionError):
            raise HTTPError(400, reason="Bad Request") from None
        if not isinstance(body, dict):
            raise HTTPError(400, reason="Bad Request")
        await self.computed(lambda: getattr(self.explorer, name)(body))


class _Nothing(_Handler):
    """Every other address."""

    def prepare(self) -> None:
        super().prepare()
        raise HTTPError(404, reason="Not Found")


def _topic(text: str | None) -> Any:
    """The number of a topic, or the text itself where that is not a number."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 10 else text
