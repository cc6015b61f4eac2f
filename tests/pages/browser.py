"""Chromium without a window, driven over a pipe: no driver, no port and no package besides the browser itself."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

# What axe-core is installed with; it is for tests alone, and nothing of it ships.
INSTALL = "make build/node_modules/axe-core"
AXE = Path(__file__).parents[2] / "build" / "node_modules" / "axe-core" / "axe.min.js"
# Letters under twelve pixels as they are shown: of a drawing those of the page's scale, not of its own.
SMALL = """() => {
  const found = {};
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !one.checkVisibility({ visibilityProperty: true })) continue;
    const scale = one.getScreenCTM ? Math.hypot(one.getScreenCTM().a, one.getScreenCTM().b) : 1;
    const size = parseFloat(getComputedStyle(one).fontSize) * scale;
    if (size < 11.95) found[size.toFixed(1)] ??= walk.currentNode.data.trim().slice(0, 40);
  }
  return Object.entries(found).map(([size, words]) => `${size}: ${words}`);
}"""
# Words of a drawing outside of it, and a page that is wider than its window.
CUT = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('figure svg')) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.width && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1))
        found.push(text.textContent);
    }
  }
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) found.push(`the page is ${wide}`);
  return found;
}"""
# Tables that are wider than their frame: one scrolls there, but half of it is out of sight.
WIDE = """() => [...document.querySelectorAll('.frame')]
  .filter(one => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
  .map(one => `${one.scrollWidth} in ${one.clientWidth}: ${one.getAttribute('aria-label')}`)"""
AMISS = {"under 12 pixels": SMALL, "cut off": CUT, "a table": WIDE}
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")


def find_chromium() -> str | None:
    """Return where the browser is, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """One browser with one page; messages are JSON, each ended by a zero byte."""

    def __init__(self) -> None:
        program = find_chromium()
        assert program is not None, "needs chromium on the path"
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        child_reads, self._out = os.pipe()
        self._in, child_writes = os.pipe()
        command = [program, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"]
        # The browser reads commands from descriptor 3 and answers on descriptor 4.
        script = f'exec "$@" 3<&{child_reads} 4>&{child_writes}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "chromium", *command],
            pass_fds=(child_reads, child_writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(child_reads)
        os.close(child_writes)
        self._buffer, self._last, self._session = b"", 0, ""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.requests: list[str] = []
        for domain in ("Page", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._folder.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come before it are noted."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                found: dict[str, Any] = answer["result"]
                return found

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        if answer.get("method") == "Network.requestWillBeSent":
            self.requests.append(answer["params"]["request"]["url"])
        return answer

    def open(self, page: Path, *, width: int = 1280, is_dark: bool = False, media: str = "screen") -> None:
        """Open a file in a window of this width, in one of the two modes."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self._resize(width, 900)
        self.requests = []
        self.send("Page.navigate", url=page.resolve().as_uri())
        while self._receive().get("method") != "Page.loadEventFired":
            pass

    def _resize(self, width: int, height: int) -> None:
        settings = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **settings)

    def evaluate(self, script: str) -> Any:
        """Return what a script gives, waiting for it if it promises something."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def photograph(self, width: int) -> bytes:
        """Return the whole page as PNG, with the images that would wait until they are scrolled to."""
        self.evaluate(
            "Promise.all([...document.images].map(one => "
            "{ one.loading = 'eager'; return one.decode().catch(() => 0); })).then(() => 0)"
        )
        self._resize(width, int(self.evaluate("document.documentElement.scrollHeight")))
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def blemishes(self) -> list[str]:
        """Return what can be measured of how a page looks: letters under twelve pixels, and words that are cut off."""
        return [f"{what}: {one}" for what, script in AMISS.items() for one in self.evaluate(f"({script})()")]

    def faults(self) -> list[str]:
        """Open every fold and return what axe-core finds serious, critical or moderate: the rule and where."""
        self.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        self.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
        found = json.loads(self.evaluate("axe.run(document).then(result => JSON.stringify(result.violations))"))
        return [
            f"{rule['id']}: {node['html'][:120]} {node.get('failureSummary', '')[:200]}"
            for rule in found
            if rule["impact"] != "minor"
            for node in rule["nodes"]
        ]
