"""Connections on loopback: one event loop on one thread, and a task for each connection.

So hundreds of requests in flight cost hundreds of small objects, and no thread.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from nbckpt.errors import UsageError
from nbckpt.testing.sending import CutError
from nbckpt.testing.wire import HEAD_BYTES, Request, read_request

HOST = "127.0.0.1"
BACKLOG = 1024

Serve: TypeAlias = Callable[[Request, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]
"""Answers one request; whether the connection stays open."""


class Server:
    """A server that runs from when it is made until `stop`.

    Parameters
    ----------
    port
        0 = a free one.

    Raises
    ------
    UsageError
        If the port is taken.
    """

    def __init__(self, serve: Serve, port: int) -> None:
        try:
            listening = socket.create_server((HOST, port), backlog=BACKLOG)
        except OSError as error:
            message = f"port {port} is taken; 0 takes a free one"
            raise UsageError(message) from error
        self.port: int = listening.getsockname()[1]
        self._serve = serve
        self._connections: set[asyncio.Task[None]] = set()
        self._transports: weakref.WeakSet[asyncio.WriteTransport] = weakref.WeakSet()
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        # The socket listens already: a client that comes now waits in the backlog.
        self._thread = threading.Thread(
            target=self._run, args=[listening], name="nbckpt-provider", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Refuse connections from now on, and lose those that are open."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def _run(self, listening: socket.socket) -> None:
        try:
            self._loop.run_until_complete(self._listen(listening))
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    async def _listen(self, listening: socket.socket) -> None:
        server = await asyncio.start_server(self._connected, sock=listening, limit=HEAD_BYTES)
        await self._stopped.wait()
        # Those that were accepted at this very moment need a server (up to Python 3.12), or nobody
        # closes them; and some still write, to nobody.
        self._loop.remove_reader(listening)
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for connection in self._connections:
                connection.cancel()
            await asyncio.wait(others)
        server.close()
        for transport in self._transports:
            transport.abort()
        await asyncio.sleep(0)  # what they still have to do: close their sockets

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._stopped.is_set():
            writer.transport.abort()
            return
        self._transports.add(writer.transport)
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        # Without it the end of each answer waits 40 ms for the client's acknowledgement.
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while request := await read_request(reader, writer):
                if not await self._serve(request, reader, writer):
                    break
        except (CutError, ConnectionError, asyncio.IncompleteReadError):
            pass  # the client's, or a fault's: whoever counts has seen it
        except (ValueError, asyncio.LimitOverrunError):
            writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        except asyncio.CancelledError:
            writer.transport.abort()  # stopped: what was not written yet is lost
        finally:
            writer.close()
