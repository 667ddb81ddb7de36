"""How processes that sweep one graph together share what they found.

Every process opens the same partitioned graph, runs the same program, and sweeps its own blocks.
The state of all vertices is with each of them; after every sweep they gather what the others wrote.
An exchange is one operation, `gather`; everything else is built on it.
"""

from __future__ import annotations

import time
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, Final, Protocol

import numpy as np

from weft.arrays.device import module_of, to_host
from weft.errors import ConfigError, WeftError

PATIENCE_S: Final = 60.0  # for the processes of a group to find each other
NAP_S: Final = 0.05


class Exchange(Protocol):
    """What processes use to share arrays.

    Attributes
    ----------
    rank
        The number of this process, from 0.
    size
        How many processes there are.
    """

    rank: int
    size: int

    def gather(self, array: Any) -> list[Any]:
        """Return the arrays of all processes, by rank.

        All have one dtype and one shape, but for their lengths.
        """

    @property
    def bytes_sent(self) -> int:
        """How many bytes this process has passed to each of the others."""


class HostExchange:
    """An exchange of processes with connections on a network, through the one of rank 0.

    Parameters
    ----------
    rank : int
        The number of this process, from 0.
    size : int
        How many processes there are.
    address : tuple of str and int
        The address at which the process of rank 0 waits for the others.
    key : bytes
        A shared secret: connections without it are rejected.

    Raises
    ------
    ConfigError
        If the rank is not below the size, or the others do not come within a minute.
    """

    def __init__(self, rank: int, size: int, address: tuple[str, int], key: bytes) -> None:
        if not 0 <= rank < size:
            raise ConfigError(f"rank={rank} of {size} processes. Expected 0 to {size - 1}.")
        self.rank, self.size, self.bytes_sent = rank, size, 0
        self._others: list[Connection] = []
        if rank > 0:
            self._others = [_reached(address, key)]
            self._others[0].send(rank)
        elif size > 1:
            with Listener(address, backlog=size, authkey=key) as listener:
                came = [listener.accept() for _ in range(size - 1)]
            ranked = {connection.recv(): connection for connection in came}
            self._others = [ranked[other] for other in range(1, size)]

    def gather(self, array: Any) -> list[Any]:
        """Return the arrays of all processes, by rank, on the device of this one's."""
        own = np.ascontiguousarray(to_host(array))
        self.bytes_sent += own.nbytes
        try:
            if self.rank > 0:
                self._others[0].send(own)
                gathered: list[Any] = self._others[0].recv()
            else:
                gathered = [own, *(connection.recv() for connection in self._others)]
                for connection in self._others:
                    connection.send(gathered)
        except (EOFError, OSError) as error:
            raise WeftError(
                f"a process of the group has ended ({type(error).__name__}), so that this one, of "
                f"rank {self.rank}, cannot go on. Start all {self.size} again; look at what the "
                "other one said."
            ) from None
        xp = module_of(array)
        return [xp.asarray(part) for part in gathered]

    def close(self) -> None:
        """End the connections."""
        for connection in self._others:
            connection.close()


def _reached(address: tuple[str, int], key: bytes) -> Connection:
    """Return a connection to the process of rank 0, which may start later."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return Client(address, authkey=key)
        except (ConnectionRefusedError, ConnectionResetError):
            if time.monotonic() > end:
                raise ConfigError(
                    f"no process of rank 0 answers at {address[0]}:{address[1]}. Expected it there "
                    f"within {PATIENCE_S:.0f} s; start all processes with one address."
                ) from None
            time.sleep(NAP_S)
