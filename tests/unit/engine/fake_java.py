"""A program in Java's place, which plays an OpenSearch node: the same arguments, port and answers.

Copied as `bin/java` into a test's JAVA_HOME; the file `behaviour` beside it says what it does.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[0]).resolve().parent


def behaviour() -> str:
    return (FOLDER / "behaviour").read_text()


class Node(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(503 if behaviour() == "never ready" else 200, {"status": "green"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        (FOLDER / "passwords.json").write_bytes(body)
        self._answer(200, {"updated": 0 if behaviour() == "has no users" else 4})

    def _answer(self, code: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def main() -> None:
    if sys.argv[1:] == ["-version"]:
        print('openjdk version "25.0.2"', file=sys.stderr)
        return
    with (FOLDER / "starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    (FOLDER / "command.json").write_text(json.dumps(sys.argv))
    print("fake node starting", flush=True)
    if behaviour() == "dies":
        sys.exit("Terminating due to java.lang.OutOfMemoryError: Java heap space")
    port = int(sys.argv[sys.argv.index("-baseHttpPort") + 1]) + 1
    first = len((FOLDER / "starts").read_text().split()) == 1
    if behaviour() == "loses its port" or (behaviour() == "loses its port once" and first):
        port += 1
    HTTPServer(("127.0.0.1", port), Node).serve_forever()


if __name__ == "__main__":
    main()
