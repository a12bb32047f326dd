"""Starts servers, and talks to them: what serve_load.py and serve_faults.py share. Standard library only."""

import asyncio
import contextlib
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

HOST = "127.0.0.1"
START_SECONDS = 120


def read_lines(path, most=None):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    return [line for line in lines if line][:most]


def with_languages(model, folder, length=None):
    """Copies a model, with links for its weights, and writes languages and a length into its manifest."""
    folder.mkdir(parents=True)
    for file in model.iterdir():
        if file.name != "manifest.json":
            (folder / file.name).symlink_to(file.resolve())
    manifest = json.loads((model / "manifest.json").read_text())
    training = manifest["training"]
    training.setdefault("src_lang", "en")
    training.setdefault("tgt_lang", "de")
    if length:
        limit = {"factor": 0.0, "extra": length}
        training["search"] |= {"min_len": limit, "max_len": limit}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def copy_model(model, folder):
    """Copies a model for real, so that its files can be replaced."""
    shutil.copytree(model, folder, symlinks=False)
    return folder


class Server:
    """A server in a process of its own, on a free port."""

    def __init__(self, command, log, health="/health"):
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = free.getsockname()[1]
        self.log = open(log, "wb")
        command = [str(part).replace("PORT", str(self.port)) for part in command]
        started = time.monotonic()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        while self.status(health) != 200:
            if self.process.poll() is not None or time.monotonic() - started > START_SECONDS:
                raise SystemExit(f"the server did not start: {Path(log).read_text()}")
            time.sleep(0.02)
        self.start_seconds = time.monotonic() - started

    @property
    def url(self):
        return f"http://{HOST}:{self.port}"

    def status(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as reply:
            return reply.read().decode()

    def memory_mib(self):
        """Returns the resident memory of the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, signal_number=signal.SIGTERM, timeout=60):
        """Asks the server to end, and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        finally:
            self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def serve(program, models, log, *flags):
    command = [program, "serve", "--host", HOST, "--port", "PORT"]
    for model in models:
        command += ["--model", model]
    return Server(command + list(flags), log)


class Client:
    """A connection that is kept alive, from an address of 127.0.0.0/8."""

    def __init__(self, port, address=HOST):
        self.port, self.address = port, address
        self.reader = self.writer = None

    async def connect(self):
        self.reader, self.writer = await asyncio.open_connection(
            HOST, self.port, limit=1 << 24, local_addr=(self.address, 0)
        )

    async def post(self, path, body, timeout=600):
        """Sends JSON, and returns the status and the body of the reply; (0, "") if the connection ended."""
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {HOST}:{self.port}\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(data)}\r\n\r\n"
        try:
            if self.writer is None:
                await self.connect()
            self.writer.write(head.encode() + data)
            await self.writer.drain()
            return await asyncio.wait_for(self.reply(), timeout)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self.close()
            return 0, ""

    async def reply(self):
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status = int(head.split(" ", 2)[1])
        if "transfer-encoding: chunked" in head:
            body = b""
            while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readuntil(b"\r\n")
        else:
            length = next(
                (line for line in head.split("\r\n") if line.startswith("content-length:")), "a:0"
            )
            body = await self.reader.readexactly(int(length.split(":")[1]))
        if "connection: close" in head:
            self.close()
        return status, body.decode()

    def close(self):
        if self.writer is not None:
            with contextlib.suppress(OSError):
                self.writer.close()
        self.reader = self.writer = None


async def translate(client, line, beam=None):
    """Translates a line as it is, and returns the status and its translation."""
    body = {"text": line, "split": False}
    if beam:
        body["beam_size"] = beam
    status, reply = await client.post("/v1/translate", body)
    return status, json.loads(reply)["translations"][0]["text"] if status == 200 else reply


async def translate_all(port, lines, n_clients, beam=None, call=translate, addresses=(HOST,)):
    """Translates lines with several clients, each of which has one request at a time.

    The clients take the addresses in turns. Returns the translations, None where the status was not 200, all statuses, and the seconds of each request.
    """
    found, statuses = [None] * len(lines), [0] * len(lines)
    seconds = [0.0] * len(lines)
    indices = iter(range(len(lines)))

    async def work(client):
        for index in indices:
            started = time.monotonic()
            status, text = await call(client, lines[index], beam)
            seconds[index] = time.monotonic() - started
            statuses[index] = status
            if status == 200:
                found[index] = text
        client.close()

    clients = [Client(port, addresses[n % len(addresses)]) for n in range(n_clients)]
    await asyncio.gather(*map(work, clients))
    return found, statuses, seconds


def command_line(program, model, lines, *flags):
    """Translates lines with the program, and returns the translations and the seconds of the whole command."""
    started = time.monotonic()
    done = subprocess.run(
        [program, "translate", "--model", model, *flags], input="\n".join(lines) + "\n",
        capture_output=True, text=True, check=True,
    )
    return done.stdout.split("\n")[: len(lines)], time.monotonic() - started


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")
