"""A program in the broker's place: the same environment, ports and management answers, without Java.

Copied as `bin/broker` into a test distribution; the file `behaviour` beside it says what it does.
"""

import json
import os
import signal
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[0]).resolve().parent
OFFSET = {"milliseconds": 0}


def behaviour() -> str:
    return (FOLDER / "behaviour").read_text()


class Management(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/actuator/clock":
            self._answer(200)
        else:
            self._answer(503 if behaviour() == "never ready" else 200)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        OFFSET["milliseconds"] += json.loads(body)["offsetMilli"]
        self._answer(200)

    def _answer(self, code: int) -> None:
        body = json.dumps({"epochMilli": int(time.time() * 1000) + OFFSET["milliseconds"]}).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet: the log belongs to the broker."""


def main() -> None:
    with (FOLDER / "starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    draft = FOLDER / "environment.new"
    draft.write_text(json.dumps(dict(os.environ)))
    draft.rename(FOLDER / "environment.json")
    print("fake broker starting", flush=True)
    if behaviour() == "dies":
        sys.exit("Caused by: the data folder is damaged\n\tat java.base/Some.frame(Some.java:1)")
    if behaviour() == "loses its port once" and len((FOLDER / "starts").read_text().split()) == 1:
        sys.exit("java.net.BindException: Address already in use")
    if behaviour() == "gives up once but stays" and len((FOLDER / "starts").read_text().split()) == 1:
        print("ERROR - Failed to start broker 0: Address already in use", flush=True)
        signal.pause()
    while behaviour() == "waits for the test":
        time.sleep(0.02)
    if behaviour() == "ignores SIGTERM":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with socket.create_server(("127.0.0.1", int(os.environ["ZEEBE_BROKER_GATEWAY_NETWORK_PORT"]))):
        HTTPServer(("127.0.0.1", int(os.environ["MANAGEMENT_SERVER_PORT"])), Management).serve_forever()


if __name__ == "__main__":
    main()
