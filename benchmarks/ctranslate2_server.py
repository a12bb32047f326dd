#!/usr/bin/env python3
"""Serves a CTranslate2 model over HTTP, as a programmer does in an hour: the peer of serve_load.py.

--workers threads translate, which share the cores; what arrives in the meantime is their next batch (CTranslate2
cannot add to a batch that it computes). It speaks the part of `POST /v1/translate` that the measurements use. Needs ctranslate2 and tokenizers.
"""

import argparse
import asyncio
import json
import os
import queue
import threading
from pathlib import Path

import ctranslate2
from tokenizers import Tokenizer

MAX_LINES = 64


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--length", type=int)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--compute-type", default="float32")
    asyncio.run(run(parser.parse_args()))


async def run(arguments):
    batcher = Batcher(arguments)
    for _ in range(arguments.workers):
        threading.Thread(target=batcher.work, daemon=True).start()
    server = await asyncio.start_server(batcher.serve, "127.0.0.1", arguments.port, backlog=1024)
    async with server:
        await server.serve_forever()


class Batcher:
    """Lines that wait, and the threads that translate them."""

    def __init__(self, arguments):
        self.translator = ctranslate2.Translator(
            str(arguments.model), compute_type=arguments.compute_type, inter_threads=arguments.workers,
            intra_threads=max(os.cpu_count() // arguments.workers, 1),
        )
        self.most = MAX_LINES // arguments.workers
        self.tokenizer = Tokenizer.from_file(str(arguments.tokenizer))
        self.tokens = json.loads((arguments.model / "shared_vocabulary.json").read_text())
        self.ids = {token: id for id, token in enumerate(self.tokens)}
        length = arguments.length
        self.options = {
            "beam_size": arguments.beam, "length_penalty": 1.0, "max_decoding_length": length or 256,
            "min_decoding_length": length or 1, "max_batch_size": 32, "disable_unk": True,
        }
        self.queue = queue.Queue()
        self.loop = asyncio.get_running_loop()

    def work(self):
        while True:
            waiting = [self.queue.get()]
            while len(waiting) < self.most:
                try:
                    waiting.append(self.queue.get_nowait())
                except queue.Empty:
                    break
            texts = [text for text, _ in waiting]
            encoded = self.tokenizer.encode_batch(texts, add_special_tokens=False)
            lines = [[self.tokens[id] for id in it.ids] for it in encoded]
            found = self.translator.translate_batch(lines, **self.options)
            for (_, future), result in zip(waiting, found):
                text = self.tokenizer.decode([self.ids[token] for token in result.hypotheses[0]])
                self.loop.call_soon_threadsafe(future.set_result, text)

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = next(
                    (line for line in head.split("\r\n") if line.startswith("content-length:")), "a:0"
                )
                body = await reader.readexactly(int(length.split(":")[1]))
                reply = {"status": "ok"}
                if head.startswith("post"):
                    future = self.loop.create_future()
                    self.queue.put((json.loads(body)["text"], future))
                    reply = {"translations": [{"text": await future}]}
                data = json.dumps(reply).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data) + data
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            writer.close()


if __name__ == "__main__":
    main()
