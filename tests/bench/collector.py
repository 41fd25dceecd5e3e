"""A collector that takes what telemetry it is sent and forgets it, in a process of its own."""

import asyncio
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import grpc

READY_SECONDS = 60.0


class Forgetting(grpc.GenericRpcHandler):
    """Answers every export with an empty message, which is OTLP's yes."""

    def service(self, _details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        """The handler of any call."""
        return grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"")


@asynccontextmanager
async def collecting() -> AsyncIterator[str]:
    """The address of a collector that is gone when the block ends."""
    command = (sys.executable, "-m", "tests.bench.collector")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
        yield line.decode().strip()
    finally:
        process.stdin.close()
        await process.wait()


def main() -> None:
    """Say the address, and take exports until the input ends."""
    server = grpc.server(ThreadPoolExecutor(4), handlers=[Forgetting()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"http://127.0.0.1:{port}", flush=True)
    sys.stdin.read()
    server.stop(grace=None).wait()


if __name__ == "__main__":
    main()
