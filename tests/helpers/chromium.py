"""A real browser without a driver: Chromium speaks its DevTools protocol over a pair of pipes.

https://chromedevtools.github.io/devtools-protocol/ - messages are JSON, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic", "--disable-dev-shm-usage",
    "--disable-default-apps", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
SECONDS = 300.0

Message = dict[str, Any]


def program() -> str | None:
    """Return where Chromium is, or None."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """A running Chromium with one page, and everything that page said or asked for."""

    def __init__(self, path: str, folder: Path) -> None:
        self._to_browser, self._from_browser, self._pid = _start(path, folder)
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self.events: list[Message] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> Message:
        """Ask the browser for something, and return its answer."""
        self._number += 1
        message: Message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while True:
            answer = self._read(until)
            if answer.get("id") != self._number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise AssertionError(f"{method}: {answer['error']}")
            result: Message = answer["result"]
            return result

    def _read(self, until: float) -> Message:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from_browser], [], [], max(until - time.monotonic(), 0))
            if not ready:
                raise AssertionError("Chromium did not answer in time")
            part = os.read(self._from_browser, 1 << 20)
            if not part:
                raise AssertionError("Chromium has ended")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: Message = json.loads(line)
        return message

    def size(self, width: int, height: int) -> None:
        """Make the window as large as a desktop's or as small as a phone's."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def open(self, path: Path, *, scripts: bool = True) -> None:
        """Open a file and wait until it has loaded and (with scripts) its charts are drawn."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        until = time.monotonic() + SECONDS
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            assert time.monotonic() < until, "the page never loaded"
            self.evaluate("0")  # whatever happens in between is read with the answer
            time.sleep(0.02)
        if scripts:
            self.wait_for("!document.getElementById('charts') || document.documentElement.dataset.charts === 'drawn'")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + SECONDS
        while self.evaluate(expression) is not True:
            if time.monotonic() > until:
                raise AssertionError(f"never true: {expression}; the page said {self.complaints()}")
            time.sleep(0.05)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key."""
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def complaints(self) -> list[str]:
        """Return every error or warning of the console, every exception and every refusal, since the page opened."""
        return [
            json.dumps(event["params"])
            for event in self.events
            if event.get("method") == "Runtime.exceptionThrown"
            or (event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"))
            or (event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"))
        ]

    def requests(self) -> list[str]:
        """Return every address the page asked for, itself and what lies inside it left out."""
        asked = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url[:200] for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))]

    def files(self) -> set[str]:
        """Return the files the page was made of."""
        asked = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return {url.partition("#")[0] for url in asked if url.startswith("file:")}

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Take a picture of the page."""
        options: Message = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))

    def print_to(self, path: Path) -> None:
        """Print the page to a PDF."""
        printed = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(printed["data"]))

    def close(self) -> None:
        """End the browser, by force if it does not listen."""
        with contextlib.suppress(OSError, AssertionError):
            self._session = None
            self.call("Browser.close")
        os.close(self._to_browser)
        os.close(self._from_browser)
        until = time.monotonic() + 10
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(self._pid, signal.SIGKILL)
            time.sleep(0.02)


def _start(path: str, folder: Path) -> tuple[int, int, int]:
    """Start Chromium, which reads what we say from its file 3 and answers on its file 4."""
    (theirs_in, to_browser), (from_browser, theirs_out) = os.pipe(), os.pipe()
    high_in, high_out = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (theirs_in, theirs_out))
    actions = [
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, high_in, 3),
        (os.POSIX_SPAWN_DUP2, high_out, 4),
    ]
    arguments = [path, *SWITCHES, f"--user-data-dir={folder}"]
    pid = os.posix_spawn(path, arguments, os.environ, file_actions=actions)
    for end in (theirs_in, theirs_out, high_in, high_out):
        os.close(end)
    return to_browser, from_browser, pid


@contextlib.contextmanager
def browsing(path: str) -> Iterator[Browser]:
    """Start a browser with a fresh profile, and end it."""
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as folder:
        browser = Browser(path, Path(folder))
        try:
            yield browser
        finally:
            browser.close()


def check_opened(browser: Browser, page: Path, axe: str, size: tuple[int, int]) -> None:
    """Open a page and refuse complaints, requests, scripts of its data, overflow, missing charts and what axe finds."""
    browser.size(*size)
    browser.open(page)
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.evaluate("typeof window.injected") == "undefined"
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    figures = browser.evaluate("document.querySelectorAll('figure').length")
    assert browser.evaluate("document.querySelectorAll('figure.drawn .live svg[role=img]').length") == figures
    browser.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; }); 0")
    browser.evaluate(f"{axe}; 0")
    violations = browser.evaluate(
        "axe.run({exclude: [['.live svg > *']]}).then(report => report.violations.map(rule => "
        "({id: rule.id, nodes: rule.nodes.slice(0, 3).map(node => node.html.slice(0, 200))})))"
    )
    assert violations == [], json.dumps(violations, indent=1)
