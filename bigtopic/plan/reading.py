"""Reading read blocks of the corpus, each once, a little ahead of the work."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from bigtopic.corpus.blocks import concatenate
from bigtopic.plan.slices import SliceRef
from bigtopic.types import Block

__all__ = ["BlockReader"]

KEPT = 3


class BlockReader:
    """Blocks of slices. A read block is decoded once for the slices that need it one after the other.

    With `keep_all`, read blocks stay for the next pass; otherwise a used read block is dropped when there are three
    newer ones, and its memory is reused.
    Thread-safe. `prefetch` reads in the background; an error of a background read is raised where the read block is
    needed.
    """

    def __init__(self, parts: Sequence[Any], *, keep_all: bool = False, ahead: int = 1) -> None:
        self._parts = parts
        self._keep_all = keep_all
        self._read_blocks: OrderedDict[tuple[int, int, int], Future[Block]] = OrderedDict()
        self._used: set[tuple[int, int, int]] = set()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max(1, ahead), thread_name_prefix="bigtopic-read") if ahead else None

    def block(self, ref: SliceRef) -> Block:
        """The documents of a slice."""
        blocks = [
            self.read_block(piece)[piece.start - piece.read_block_start : piece.stop - piece.read_block_start]
            for piece in ref.pieces
        ]
        return concatenate(blocks)

    def read_block(self, ref: SliceRef) -> Block:
        """The documents of the read block of a slice."""
        future, mine = self._claim(ref.read_block)
        if mine:
            with _answered(future):
                self._fill(future, ref.read_block)
        block = future.result()
        with self._lock:
            if ref.read_block in self._read_blocks:
                self._used.add(ref.read_block)
        return block

    def prefetch(self, read_block: tuple[int, int, int]) -> None:
        """Start reading a read block unless it is loaded or being read."""
        if self._pool is None:
            return
        future, mine = self._claim(read_block)
        if not mine:
            return
        with _answered(future):
            self._pool.submit(self._fill, future, read_block)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._read_blocks.clear()

    def _claim(self, read_block: tuple[int, int, int]) -> tuple[Future[Block], bool]:
        with self._lock:
            future = self._read_blocks.get(read_block)
            if future is not None:
                self._read_blocks.move_to_end(read_block)
                return future, False
            future = Future()
            self._read_blocks[read_block] = future
            self._evict()
            return future, True

    def _fill(self, future: Future[Block], read_block: tuple[int, int, int]) -> None:
        part, start, stop = read_block
        try:
            future.set_result(self._parts[part].read(start, stop))
        except BaseException as error:  # raised where the read block is requested
            future.set_exception(error)

    def _evict(self) -> None:
        if self._keep_all:
            return
        for read_block in list(self._read_blocks)[:-KEPT]:
            if read_block in self._used:
                self._used.remove(read_block)
                del self._read_blocks[read_block]


@contextmanager
def _answered(future: Future[Block]) -> Iterator[None]:
    """Fail the future if the body is interrupted, so that no thread waits for a block that will not be read."""
    try:
        yield
    except BaseException as error:
        with suppress(InvalidStateError):  # Ctrl-C may come after the block was read
            future.set_exception(error)
        raise
