"""How any rank makes rank 0 close the output before it ends the job: MPI's end leaves rank 0 no time for that.

Rank 0's main thread may be deep inside MPI, and so may the caller's: a thread of rank 0 waits at a socket instead.
"""

import fcntl
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import sleep
from typing import TYPE_CHECKING

from dpbench.engine.hosts import machine_identity

if TYPE_CHECKING:
    from dpbench.engine.world import World

CONNECT_S = 0.5
WORDS_S = 1.0  # in which the files of a healthy file system are written
DRAIN_S = 0.1  # for a launcher to pass on what was printed
LONGEST = 1000  # bytes of a reason
SIOCGIFADDR = 0x8915
DONE = b"."


class Bell:
    """Making one is collective, unless it `rings` on rank 0 only."""

    def __init__(self, world: "World", rings: bool = True) -> None:
        self.words: Callable[[str], None] = lambda reason: None  #: what rank 0 has to do
        self.spoken = Event()
        self.rank = world.rank
        self.server: socket.socket | None = None
        self.places: list[tuple[str, int]] = []
        if not rings:
            return
        port, addresses = 0, list[str]()
        if world.rank == 0:
            with suppress(OSError):
                self.server = socket.create_server(("", 0))
                addresses = own_addresses()
                port = self.server.getsockname()[1]
        told = (port, os.urandom(16).hex(), addresses, machine_identity())
        port, self.key, addresses, machine = world.from_root(told)
        if port:  # containers of one machine may have networks of their own
            near = ["127.0.0.1"] if machine == machine_identity() else []
            self.places = [(address, port) for address in near + addresses]
        if self.server:
            Thread(target=self.listen, name="bell", daemon=True).start()

    def ring(self, reason: str) -> bool:
        """Make rank 0 say its last words; return whether it did so in time."""
        if self.rank == 0:
            Thread(target=self.speak, args=(reason,), daemon=True).start()
            return self.spoken.wait(WORDS_S)
        return any(self.call(place, reason) for place in self.places)

    def call(self, place: tuple[str, int], reason: str) -> bool:
        """Ring at one address; return whether rank 0 has answered."""
        with suppress(OSError), socket.create_connection(place, CONNECT_S) as line:
            line.settimeout(WORDS_S + DRAIN_S + CONNECT_S)
            line.sendall(f"{self.key}{reason}".encode("utf-8", "replace")[:LONGEST])
            line.shutdown(socket.SHUT_WR)
            return line.recv(1) == DONE
        return False

    def speak(self, reason: str) -> None:
        """Do what is left to do; only once does it anything."""
        self.words(reason)
        sleep(DRAIN_S)
        self.spoken.set()

    def listen(self) -> None:
        """Wait for ranks that ring."""
        assert self.server
        while True:
            try:
                line, _ = self.server.accept()
                with line:
                    self.answer(line)
            except OSError:
                sleep(DRAIN_S)

    def answer(self, line: socket.socket) -> None:
        """Do what somebody asks for who knows the key, and say when it is done."""
        line.settimeout(CONNECT_S)
        said = b"".join(iter(lambda: line.recv(LONGEST), b"")).decode("utf-8", "replace")
        key, reason = said[: len(self.key)], said[len(self.key) :]
        if key == self.key:
            Thread(target=self.speak, args=(reason,), daemon=True).start()
            line.sendall(DONE if self.spoken.wait(WORDS_S) else b"")


def own_addresses() -> list[str]:
    """Return the addresses of this host's network interfaces but the loopback's."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            with suppress(OSError):
                request = struct.pack("256s", name.encode()[:15])
                found.append(socket.inet_ntoa(fcntl.ioctl(any_socket, SIOCGIFADDR, request)[20:24]))
    return [address for address in found if not address.startswith("127.")]
