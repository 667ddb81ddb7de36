"""Reading blocks ahead: a thread reads the next ones while the kernel works on the present one."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from queue import Queue
from types import MappingProxyType
from typing import Any, NamedTuple

from weft.blocks.block_file import Block, BlockReader, Rows
from weft.blocks.manifest import Manifest


class Need(NamedTuple):
    """A block to read: its number, the directions that are wanted of it, and of each some rows."""

    number: int
    ways: tuple[str, ...]
    some: Mapping[str, Rows] = MappingProxyType({})


def blocks_ahead(
    reader: BlockReader, manifest: Manifest, needs: Sequence[Need], depth: int = 1
) -> Iterator[tuple[int, dict[str, Block]]]:
    """Yield blocks in order; up to `depth` of the next ones are read in the meantime.

    An error of the reading thread is raised here, in its turn.
    """
    if len(needs) == 1:  # nothing to overlap with
        yield needs[0].number, _read(reader, manifest, needs[0])
        return
    queue: Queue[Any] = Queue()
    room = threading.Semaphore(depth + 1)  # the block worked on, and those ahead
    stopped = threading.Event()

    def work() -> None:
        try:
            for need in needs:
                room.acquire()
                if stopped.is_set():
                    return
                queue.put((need.number, _read(reader, manifest, need)))
        except BaseException as error:
            queue.put(error)

    thread = threading.Thread(target=work, name="weft read-ahead", daemon=True)
    thread.start()
    try:
        for _ in needs:
            found = queue.get()
            if isinstance(found, BaseException):
                raise found
            yield found
            del found  # its memory may go before the next one is waited for
            room.release()
    finally:
        stopped.set()
        room.release()
        thread.join()


def _read(reader: BlockReader, manifest: Manifest, need: Need) -> dict[str, Block]:
    first, end = manifest.cuts[need.number], manifest.cuts[need.number + 1]
    return {
        way: reader.read(manifest.blocks[way][need.number], first, end - first, need.some.get(way))
        for way in need.ways
    }
