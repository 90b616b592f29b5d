# SPDX-License-Identifier: MIT
"""chromium.py: a headless Chromium without a network, driven through its debugging pipe; nothing else is needed."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One tab. Use as a context manager; `events` holds what it reported, oldest first."""

    def __init__(self, width: int = 1180, height: int = 820) -> None:
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()
        def pipes() -> None:  # Chromium reads from 3 and writes to 4
            ends = os.dup(to_read), os.dup(to_write)  # one of them may be 3 or 4 itself
            os.dup2(ends[0], 3), os.dup2(ends[1], 4)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self.folder.name}",
             f"--window-size={width},{height}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read), os.close(to_write)
        self.rest, self.last, self.session, self.events = b"", 0, None, []
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.to), os.close(self.of)
        self.folder.cleanup()

    def _next(self) -> dict:
        while b"\0" not in self.rest:
            more = os.read(self.of, 1 << 20)
            if not more:
                raise RuntimeError("Chromium ended")
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, **params: object) -> dict:
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            got = self._next()
            if got.get("id") == self.last:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                return got["result"]
            self.events.append(got)

    def js(self, expression: str) -> object:
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def wait(self, expression: str, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not self.js(f"!!({expression})"):
            if time.monotonic() > end:
                raise RuntimeError(f"after {seconds} s still not: {expression}")
            time.sleep(0.02)

    def open(self, page: Path) -> None:
        self.call("Page.navigate", url=page.resolve().as_uri())

    def dark(self, dark: bool) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def pick(self, field: str, file: Path) -> None:
        """Chooses a file in an input, as a person would."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=field)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(file.resolve())])

    def screenshot(self, to: Path) -> None:
        to.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """What the console, the log and failed requests say."""
        found = []
        for e in self.events:
            what, p = e.get("method"), e.get("params", {})
            if what == "Runtime.exceptionThrown":
                found.append(str(p["exceptionDetails"]))
            elif what == "Log.entryAdded" and p["entry"]["level"] in ("warning", "error"):
                found.append(p["entry"]["text"])
            elif what == "Network.loadingFailed":
                found.append(p["errorText"])
        return found

    def requests(self) -> list[str]:
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
