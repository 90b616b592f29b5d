# SPDX-License-Identifier: MIT
"""harness.py: a `cke serve` of one's own for the time of a test. Needs nothing but Python."""
import contextlib
import http.client
import json
import signal
import subprocess


class Server:
    def __init__(self, command: str, model: str, *options: str, **how):
        """`how`: of subprocess.Popen."""
        port = () if "--port" in options else ("--port", "0")
        self.process = subprocess.Popen([command, "serve", model, *port, *options], stdout=subprocess.PIPE, text=True, **how)
        line = self.process.stdout.readline()  # serving NAME at http://127.0.0.1:PORT
        if not line:
            raise SystemExit(f"cke serve ended with {self.process.wait()}")
        self.url = line.split()[-1]
        self.host = self.url.removeprefix("http://")

    def request(self, method: str, path: str, body=None, headers=None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.host, timeout=60)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json"} | (headers or {}))
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def post(self, path: str, body) -> dict:
        status, answer = self.request("POST", path, body)
        assert status == 200, answer
        return json.loads(answer)

    def metric(self, name: str) -> float:
        for line in self.request("GET", "/metrics")[1].decode().splitlines():
            if line.startswith(f"cke_{name} "):
                return float(line.split()[1])
        raise KeyError(name)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        assert status == 0, f"exit {status} after SIGTERM"


@contextlib.contextmanager
def serving(command: str, model: str, *options: str):
    server = Server(command, model, *options)
    try:
        yield server
        server.stop()
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
