#!/usr/bin/env python3
"""Attacks a server the way networks and careless programs do, and checks that it goes on serving.

    cargo build -p transformer-infer
    python3 benchmarks/serve_faults.py --model MODEL --text TEXT [ATTACK...]

Attacks, all by default: slowloris (heads that never end), bodies (that never end, or are longer than they say),
half_open (connections that send nothing), idle (10,000 connections), vanish (clients that hang up while they wait),
garbage (what is not HTTP), terminate (SIGTERM under load: every request that was accepted is answered), reload (SIGHUP
with a model that is replaced, and with a broken one), hang (512 requests of one address that send a byte of their
bodies, and then 64 bodies of 4 MiB that lack their last byte), keys (the same without a key, by many addresses), turns
(250 requests of 40 sentences as HTML and 64 documents of one address, while another asks for one sentence), siege (700
connections of one address with all of these, again and again, for --minutes). While they last, another client must be
served. Prints one line for each; the exit status is 1 if one failed. Linux only.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import urllib.request
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from serving import (
    HOST, Client, copy_model, quantile, read_lines, serve, translate, translate_all, with_languages,
)

MOST_SECONDS = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=Path("target/debug/transformer-infer"))
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=1, help="how long `siege` lasts")
    parser.add_argument("--equal", action="store_true", help="give the besiegers of `siege` the server's priority")
    parser.add_argument("attacks", nargs="*", choices=[*ATTACKS, []])
    arguments = parser.parse_args()
    arguments.program = arguments.program.resolve()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    lines = read_lines(arguments.text, 1000)
    n_failed = 0
    # In this order: `siege` lowers the priority of this process for good.
    for name in sorted(arguments.attacks or ATTACKS, key=list(ATTACKS).index):
        with tempfile.TemporaryDirectory() as scratch:
            model = with_languages(arguments.model, Path(scratch) / "first")
            attack = Attack(arguments, Path(scratch), model, lines)
            try:
                said = asyncio.run(ATTACKS[name](attack))
                print(f"{name}: held; {said}", flush=True)
            except (Exception, SystemExit):
                n_failed += 1
                print(f"{name}: FAILED", flush=True)
                traceback.print_exc()
    sys.exit(n_failed > 0)


class Stranger(Client):
    """A connection from another address."""

    def __init__(self, port, address="127.0.0.2"):
        super().__init__(port, address)

    async def begin(self, path, n_bytes, body):
        """Sends the head of a request and some of its body."""
        await self.connect()
        head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {n_bytes}\r\n\r\n".encode() + body)
        with contextlib.suppress(OSError):  # the server may refuse it
            await self.writer.drain()


class Attack:
    def __init__(self, arguments, scratch, model, lines):
        self.arguments, self.scratch, self.model, self.lines = arguments, scratch, model, lines

    def serve(self, *flags, models=None):
        return serve(self.arguments.program, models or [self.model], self.scratch / "log", *flags)

    async def works(self, server, most_seconds=MOST_SECONDS):
        """Checks that another client is served, and returns the seconds that it waited."""
        started = time.monotonic()
        client = Client(server.port)
        status, text = await asyncio.wait_for(translate(client, self.lines[0]), most_seconds)
        client.close()
        assert status == 200 and text, (status, text)
        return time.monotonic() - started

    def log(self):
        return (self.scratch / "log").read_text(errors="replace")


async def closed_within(reader, seconds):
    """Whether the server closes a connection in time; returns what it said."""
    try:
        return await asyncio.wait_for(reader.read(), seconds)
    except asyncio.TimeoutError:
        return None
    except OSError:
        return b""


async def slowloris(attack):
    with attack.serve("--header-time", "3") as server:

        async def send_slowly():
            reader, writer = await asyncio.open_connection(HOST, server.port)
            started = time.monotonic()
            try:
                writer.write(b"POST /v1/translate HTTP/1.1\r\n")
                while time.monotonic() - started < 15 and not reader.at_eof():
                    writer.write(b"X-a: b\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.5)
            except OSError:
                pass
            writer.close()
            return time.monotonic() - started

        slow = [asyncio.create_task(send_slowly()) for _ in range(200)]
        await asyncio.sleep(1)
        seconds = await attack.works(server)
        held = await asyncio.gather(*slow)
        assert max(held) < 14, f"a head was read for {max(held):.1f} s"
        return f"200 heads were given up after {max(held):.1f} s; another client waited {seconds:.2f} s"


async def bodies(attack):
    with attack.serve("--body-time", "3") as server:
        head = f"POST /v1/translate HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"

        async def never_ends():
            reader, writer = await asyncio.open_connection(HOST, server.port)
            writer.write((head + "Content-Length: 1000\r\n\r\n{").encode())
            await writer.drain()
            said = await closed_within(reader, 15)
            writer.close()
            return said

        async def too_long():
            reader, writer = await asyncio.open_connection(HOST, server.port)
            sent = 0
            try:
                writer.write((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
                while sent < 1 << 30 and not reader.at_eof():
                    writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
                    await writer.drain()
                    sent += 0x10000
            except OSError:
                pass
            writer.close()
            return sent

        before = server.memory_mib()
        said = await asyncio.gather(*(never_ends() for _ in range(50)))
        sent = await asyncio.gather(*(too_long() for _ in range(20)))
        seconds = await attack.works(server)
        assert None not in said, "a body without end was waited for"
        assert max(sent) < 1 << 30, "a body of a gigabyte was read"
        growth = server.memory_mib() - before
        assert growth < 400, f"memory grew by {growth:.0f} MiB"
        statuses = Counter(reply.split(b"\r\n")[0].decode() for reply in said)
        return f"{dict(statuses)}; the longest body read was {max(sent) >> 20} MiB, memory grew by " \
               f"{growth:.0f} MiB; another client waited {seconds:.2f} s"


async def half_open(attack):
    with attack.serve("--idle-time", "3") as server:
        opened = [await asyncio.open_connection(HOST, server.port) for _ in range(500)]
        seconds = await attack.works(server)
        said = await asyncio.gather(*(closed_within(reader, 15) for reader, _ in opened))
        assert None not in said, f"{said.count(None)} connections stayed open"
        for _, writer in opened:
            writer.close()
        return f"500 silent connections were closed; another client waited {seconds:.2f} s"


async def idle(attack):
    n = attack.arguments.connections
    with attack.serve() as server:
        before = server.memory_mib()
        opened, refused = [], 0
        for _ in range(n):
            try:
                opened.append(await asyncio.wait_for(asyncio.open_connection(HOST, server.port), 5))
            except (OSError, asyncio.TimeoutError):
                refused += 1
                if refused > 200:
                    break
        seconds = await attack.works(server)
        growth = server.memory_mib() - before
        for _, writer in opened:
            writer.close()
        return f"{len(opened)} idle connections, {refused} refused, {growth:.0f} MiB more; another client " \
               f"waited {seconds:.2f} s"


async def vanish(attack):
    with attack.serve() as server:
        long = " ".join(attack.lines[:40])
        pauses = random.Random(1)

        async def hang_up():
            client = Client(server.port)
            asking = asyncio.create_task(client.post("/v1/translate", {"text": long, "beam_size": 4}))
            await asyncio.sleep(pauses.uniform(0.02, 0.2))
            client.writer and client.writer.transport.abort()
            asking.cancel()

        for _ in range(10):
            await asyncio.gather(*(hang_up() for _ in range(20)))
        seconds = await attack.works(server)
        # What nobody waits for must not be computed.
        await asyncio.sleep(1)
        before = server.cpu_seconds()
        await asyncio.sleep(3)
        used = server.cpu_seconds() - before
        assert used < 0.5, f"the server computed for {used:.1f} s when nobody waited"
        return f"200 clients hung up; another waited {seconds:.2f} s; then the server was idle"


async def garbage(attack):
    random_bytes = random.Random(7)
    with attack.serve() as server:
        requests = [random_bytes.randbytes(length) for length in (0, 1, 10, 1000, 100_000)]
        head = b"POST /v1/translate HTTP/1.1\r\nHost: a\r\n"
        requests += [
            b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
            head + b"Content-Length: -1\r\n\r\n", head + b"Content-Length: 99999999999999999999\r\n\r\n",
            head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nabcde",
            head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
            head + b"".join(b"X-%d: a\r\n" % n for n in range(10_000)) + b"\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + random_bytes.randbytes(500),
        ]
        statuses = Counter()
        for request in requests * 5:
            reader, writer = await asyncio.open_connection(HOST, server.port)
            try:
                writer.write(request)
                writer.write_eof()
                said = await closed_within(reader, 15)
                statuses[(said or b"").split(b"\r\n")[0][:40].decode("latin-1")] += 1
            except OSError:
                statuses["reset"] += 1
            writer.close()
        await attack.works(server)
        assert "panicked" not in attack.log(), attack.log()
        assert not any(" 500 " in status or " 200 " in status for status in statuses), statuses
        return f"replies {dict(statuses)}"


async def terminate(attack):
    server = attack.serve()
    n = 400
    with server:
        lines = [attack.lines[index % len(attack.lines)] for index in range(n)]
        asking = asyncio.create_task(translate_all(server.port, lines, 32))
        await asyncio.sleep(0.7)
        server.process.send_signal(signal.SIGTERM)
        found, statuses, _ = await asking
        started = time.monotonic()
        status = await asyncio.to_thread(server.stop)
        seconds = time.monotonic() - started
    counted = Counter(statuses)
    # A client whose connection ends gets no further connection: these requests were never accepted.
    assert set(counted) <= {200, 0, 503}, counted
    lost = [
        line for line in attack.log().splitlines() if "panicked" in line or "error" in line.lower()
    ]
    assert status == 0, f"exit status {status}: {attack.log()[-2000:]}"
    assert counted[200] > 0 and not lost, (counted, lost)
    return f"{counted[200]} answered, {n - counted[200]} came too late; the server ended with status 0 after " \
           f"{seconds:.1f} s"


async def reload(attack):
    folder = copy_model(attack.model, attack.scratch / "served")
    manifest = json.loads((folder / "manifest.json").read_text())

    def replace_manifest(text):
        (folder / "new").write_text(text)
        os.replace(folder / "new", folder / "manifest.json")

    with attack.serve(models=[folder]) as server:
        asking = asyncio.create_task(translate_all(server.port, attack.lines[:300], 8))
        for target in ("fr", "es"):
            manifest["training"]["tgt_lang"] = target
            replace_manifest(json.dumps(manifest))
            server.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + MOST_SECONDS
            while f'"{target}"' not in server.get("/v1/models") and time.monotonic() < deadline:
                await asyncio.sleep(0.1)
            assert f'"{target}"' in server.get("/v1/models"), f"{target} was not loaded"
        replace_manifest("{}")
        server.process.send_signal(signal.SIGHUP)
        await asyncio.sleep(2)
        assert '"es"' in server.get("/v1/models"), "a broken model replaced a good one"
        shutil.rmtree(folder)
        server.process.send_signal(signal.SIGHUP)
        await asyncio.sleep(1)
        seconds = await attack.works(server)
        _, statuses, _ = await asking
    assert set(statuses) == {200}, Counter(statuses)
    return f"two models replaced under load, a broken and a missing one refused; {len(statuses)} requests were " \
           f"answered, the last within {seconds:.2f} s"


async def hang(attack):
    with attack.serve() as server:
        said = []
        for n, n_bytes, body in [(512, 1000, b"{"), (64, 4 << 20, b" " * ((4 << 20) - 1))]:
            strangers = [Stranger(server.port) for _ in range(n)]
            await asyncio.gather(*(one.begin("/v1/translate", n_bytes, body) for one in strangers))
            seconds = await attack.works(server)
            said.append(f"{n} bodies of {n_bytes} bytes hung; another client waited {seconds:.2f} s")
            for one in strangers:
                one.close()
        return "; ".join(said)


async def keys(attack):
    (attack.scratch / "keys").write_text("0123456789abcdef\n")
    with attack.serve("--api-keys", attack.scratch / "keys") as server:
        strangers = [Stranger(server.port, f"127.0.1.{1 + n % 200}") for n in range(2000)]
        await asyncio.gather(*(one.begin("/translate", 1000, b"{") for one in strangers))
        started = time.monotonic()
        request = urllib.request.Request(
            f"{server.url}/v1/translate", json.dumps({"text": "A dog runs."}).encode(),
            {"Content-Type": "application/json", "X-API-Key": "0123456789abcdef"},
        )
        with await asyncio.to_thread(urllib.request.urlopen, request, timeout=MOST_SECONDS) as reply:
            assert reply.status == 200
        seconds = time.monotonic() - started
        for one in strangers:
            one.close()
        return f"2000 requests of 200 addresses without a key hung; a caller with a key waited {seconds:.2f} s"


async def turns(attack):
    with attack.serve() as server:
        await attack.works(server)
        html = "".join(f"<p>{line}</p>" for line in (attack.lines * 40)[:40])
        asking = [
            asyncio.create_task(Stranger(server.port).post("/v1/translate", {"text": html, "format": "html"}))
            for _ in range(250)
        ]
        await in_flight(server, 150)
        uploads = [asyncio.create_task(upload(Stranger(server.port), attack.lines)) for _ in range(64)]
        statuses = Counter(await asyncio.gather(*uploads))
        assert statuses[200] > 0 and set(statuses) <= {200, 429}, statuses
        said = []
        for fields in ({}, {"format": "html"}):
            started = time.monotonic()
            client = Client(server.port)
            status, reply = await client.post("/v1/translate", {"text": "A dog runs.", **fields})
            client.close()
            assert status == 200, (status, reply)
            n_left = sum(not one.done() for one in asking)
            assert n_left > 100, f"only {n_left} of 250 requests were before it"
            said.append(f"{time.monotonic() - started:.2f} s while {n_left} requests waited")
        said[-1] += f" beside {statuses[200]} documents"
        assert await upload(Client(server.port), attack.lines) == 200, "a document was refused"
        for one in asking:
            one.cancel()
        return f"another client waited {' and '.join(said)}, as text and as HTML; its document was accepted"


async def siege(attack):
    seconds = 60 * attack.arguments.minutes
    with attack.serve() as server, ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        alone, statuses = await ask_for(pool, server.port, attack.lines, min(seconds, 60))
        if not attack.arguments.equal:
            # Real besiegers have processors of their own: these get what the server and the other caller leave.
            os.nice(19)
        assert set(statuses) == {200}, statuses
        html = "".join(f"<p>{line}</p>" for line in (attack.lines * 40)[:40])
        text = {"text": (attack.lines * 10)[:10]}

        async def hang(one):
            await one.begin("/v1/translate", 1000, b"{")
            await closed_within(one.reader, 60)

        kinds = [
            (256, hang),
            (250, lambda one: one.post("/v1/translate", {"text": html, "format": "html"})),
            (64, lambda one: upload(one, attack.lines)),
            (130, lambda one: one.post("/v1/translate", text)),
        ]
        besiegers = [
            asyncio.create_task(repeat(lambda: Stranger(server.port), attempt)) for n, attempt in kinds for _ in range(n)
        ]
        try:
            await asyncio.sleep(min(seconds, 60) / 4)
            memory = []
            besiegers.append(asyncio.create_task(watch_memory(server, memory)))
            besieged, statuses = await ask_for(pool, server.port, attack.lines, seconds)
            memory.append(server.memory_mib())
            assert not any(one.done() for one in besiegers), "a besieger gave up"
        finally:
            for one in besiegers:
                one.cancel()
    assert set(statuses) == {200}, statuses
    assert "panicked" not in attack.log(), attack.log()
    said = ", ".join(
        f"{name} {1000 * quantile(alone, share):.0f} ms alone and {1000 * quantile(besieged, share):.0f} ms besieged"
        for name, share in [("median", 0.5), ("99%", 0.99)]
    )
    minutes = ", ".join(f"{it:.0f}" for it in memory)
    return f"{len(besieged)} requests of another client answered, {said}; MiB of each minute and at the end: {minutes}"


async def watch_memory(server, memory):
    while True:
        memory.append(server.memory_mib())
        await asyncio.sleep(60)


async def ask_for(pool, port, lines, seconds):
    """Asks for one sentence after the other, from a process of its own, and returns the times and the statuses."""
    return await asyncio.get_running_loop().run_in_executor(pool, ask_alone, port, lines, seconds)


def ask_alone(port, lines, seconds):
    async def ask():
        client, times, statuses = Client(port), [], Counter()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            line = lines[len(times) % len(lines)]
            started = time.monotonic()
            status, _ = await client.post("/v1/translate", {"text": line}, MOST_SECONDS)
            times.append(time.monotonic() - started)
            statuses[status] += 1
            await asyncio.sleep(0.05)
        client.close()
        return times, statuses

    return asyncio.run(ask())


async def repeat(connect, attempt):
    """Makes attempts until it is cancelled, each with a new connection, whatever becomes of them."""
    while True:
        one = connect()
        with contextlib.suppress(OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            await attempt(one)
        one.close()
        await asyncio.sleep(0.1)


async def in_flight(server, n):
    """Waits until so many requests are being answered."""
    deadline = time.monotonic() + MOST_SECONDS
    while time.monotonic() < deadline:
        text = await asyncio.to_thread(server.get, "/metrics")
        line = next(line for line in text.splitlines() if line.startswith("transformer_in_flight_requests "))
        if float(line.split()[1]) >= n:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{line}, expected {n}")


async def upload(client, lines):
    """Sends a document, and returns the status."""
    text = "\n".join(lines[:400])
    disposition = 'Content-Disposition: form-data; name="file"; filename="a.txt"'
    body = f"--b\r\n{disposition}\r\n\r\n{text}\r\n--b--\r\n".encode()
    await client.connect()
    head = f"POST /v2/document?source_lang=EN&target_lang=DE HTTP/1.1\r\nHost: {HOST}\r\n"
    head += f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(body)}\r\n\r\n"
    client.writer.write(head.encode() + body)
    await client.writer.drain()
    status, _ = await client.reply()
    return status


ATTACKS = {
    "slowloris": slowloris, "bodies": bodies, "half_open": half_open, "idle": idle, "vanish": vanish,
    "garbage": garbage, "terminate": terminate, "reload": reload, "hang": hang, "keys": keys, "turns": turns,
    "siege": siege,
}

if __name__ == "__main__":
    main()
