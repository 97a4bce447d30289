"""vLLM's cache events on ZeroMQ: the wire format of vLLM 0.32 (vllm/distributed/kv_events.py), published by a stub.

A batch is an array (time, events, rank), an event a map whose "type" names it. Each message is (topic, sequence number, batch);
a replay socket sends again what a subscriber missed.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import msgspec
import zmq


class BlockStored(msgspec.Struct, tag=True, omit_defaults=True):
    """Blocks that came into the cache."""

    block_hashes: list[bytes]
    parent_block_hash: bytes | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None
    medium: str | None
    lora_name: str | None


class AllBlocksCleared(msgspec.Struct, tag=True):
    """The cache is empty."""


class Batch(msgspec.Struct, array_like=True):
    """What one step of the scheduler changed."""

    ts: float
    events: list[BlockStored | AllBlocksCleared]
    data_parallel_rank: int


@dataclass
class PublisherConfig:
    """vLLM's KVEventsConfig as the chart sets it."""

    enable_kv_cache_events: bool = True
    publisher: str = "zmq"
    endpoint: str = "tcp://*:5557"
    replay_endpoint: str | None = "tcp://*:5558"
    buffer_steps: int = 10_000
    hwm: int = 100_000
    max_queue_size: int = 100_000
    topic: str = ""


class Publisher:
    """Events of one process, from sequence number 0.

    Args:
        address: address to bind both sockets to, on the ports of PublisherConfig.
    """

    def __init__(self, address: str) -> None:
        self._context = zmq.Context()
        self._pub = self._context.socket(zmq.PUB)
        self._pub.bind(f"tcp://{address}:5557")
        self._replay = self._context.socket(zmq.ROUTER)
        self._replay.bind(f"tcp://{address}:5558")
        self._sent: list[bytes] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve_replay, daemon=True)
        self._thread.start()

    def stored(self, digest: bytes, parent: bytes | None, ids: list[int]) -> None:
        """A block in the engine's own cache."""
        self._publish(BlockStored([digest], parent, ids, len(ids), None, "GPU", None))

    def cleared(self) -> None:
        """All of them are gone."""
        self._publish(AllBlocksCleared())

    def close(self) -> None:
        """As a killed process: nothing more is sent."""
        self._closing.set()
        self._thread.join()
        self._pub.close(linger=0)
        self._replay.close(linger=0)
        self._context.term()

    def _publish(self, event: BlockStored | AllBlocksCleared) -> None:
        with self._lock:
            payload = msgspec.msgpack.encode(Batch(time.time(), [event], 0))
            self._pub.send_multipart((b"", len(self._sent).to_bytes(8, "big"), payload))
            self._sent.append(payload)

    def _serve_replay(self) -> None:
        while not self._closing.is_set():
            if not self._replay.poll(50):
                continue
            client, _, start = self._replay.recv_multipart()
            with self._lock:
                for sequence in range(int.from_bytes(start, "big"), len(self._sent)):
                    frames = (client, b"", b"", sequence.to_bytes(8, "big"), self._sent[sequence])
                    self._replay.send_multipart(frames)
                self._replay.send_multipart((client, b"", b"", (-1).to_bytes(8, "big", signed=True), b""))
