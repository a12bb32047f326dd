#!/usr/bin/env python3
"""Measures a server under load, beside the same work on the command line and beside CTranslate2 behind a server.

    cargo build -p transformer-infer
    python3 benchmarks/serve_load.py --model MODEL --text TEXT SCENARIO...

MODEL is a model directory with a joint vocabulary, TEXT a file of lines. Scenarios:

- throughput: 32 clients, each of which keeps its connection and sends one sentence at a time, and `transformer-infer
  translate --check` on the same file, in turns; sentences per second. The command's time without sentences is subtracted.
- crowd: 512 clients of as many addresses, each of which sends the next sentence when it has the last one; the seconds
  that 99% of them wait at most, beside 512 sentences at the speed of `translate` on the same lines.
- single: one client, one sentence at a time, and `translate` with the same lines through a pipe, one at a time, in turns;
  milliseconds.
- equal: 10,000 sentences from 64 clients in random order; all translations equal those of the command line.
- overload: as many requests as possible from 10 times the clients that the queue takes, for a minute; statuses,
  latency of those accepted, memory.
- memory: 100,000 requests (--requests); memory after a tenth and at the end.
- ctranslate2: throughput and single of CTranslate2 (4.8.5 was used, with tokenizers), behind ctranslate2_server.py,
  which translates what arrives while it computes as one batch, with one worker and with one for each core: the better
  counts, for each figure. All servers take turns.

A figure is the median of --rounds. --length sets the tokens of each translation; models with useless weights need it, and
--flags=--no-check, because almost all of their translations have faults. The server then still keeps the digits of
numbers, which `translate` without --check does not: lines with digits are left out.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from serving import (
    Client, Server, command_line, quantile, read_lines, serve, translate, translate_all, with_languages,
)

N_CLIENTS = 32
SINGLE_LINES = 60
OVERLOAD_SECONDS = float(os.environ.get("OVERLOAD_SECONDS", 60))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=Path("target/debug/transformer-infer"))
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--length", type=int, help="tokens of each translation")
    parser.add_argument("--beam", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--waves", type=int, default=8, help="sentences of each client of `crowd`, at least 2")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--precision", default="f32", choices=["f32", "int8"])
    parser.add_argument("--flags", default="", help="further flags of `serve`")
    parser.add_argument("scenarios", nargs="+", choices=sorted(SCENARIOS))
    arguments = parser.parse_args()
    arguments.program = arguments.program.resolve()
    lines = read_lines(arguments.text, arguments.lines)
    if "--no-check" in arguments.flags.split():
        lines = [line for line in lines if not any(it.isdigit() for it in line)]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        model = with_languages(arguments.model, scratch / "model", arguments.length)
        load = Load(arguments, scratch, model, lines)
        for scenario in arguments.scenarios:
            print(f"{scenario}:", flush=True)
            asyncio.run(SCENARIOS[scenario](load))


class Load:
    """What the scenarios use."""

    def __init__(self, arguments, scratch, model, lines):
        self.arguments, self.scratch, self.model, self.lines = arguments, scratch, model, lines
        self.beam = arguments.beam

    def serve(self, *flags):
        flags = [*self.arguments.flags.split(), *flags]
        precision = ["--precision", "int8"] if self.arguments.precision == "int8" else []
        return serve(self.arguments.program, [self.model], self.scratch / "log", *precision, *flags)

    def flags(self):
        """Returns the flags of `translate` for the same work."""
        check = [] if "--no-check" in self.arguments.flags.split() else ["--check"]
        beam = ["--beam", str(self.beam)] if self.beam else []
        precision = ["--precision", "int8"] if self.arguments.precision == "int8" else []
        return [*check, *beam, *precision]

    def command(self, lines):
        return command_line(self.arguments.program, self.model, lines, *self.flags())

    async def rate(self, server, call=translate):
        """Returns sentences per second of 32 clients."""
        started = time.monotonic()
        found, statuses, _ = await translate_all(server.port, self.lines, N_CLIENTS, self.beam, call)
        seconds = time.monotonic() - started
        assert set(statuses) == {200}, Counter(statuses)
        return len(self.lines) / seconds, found

    async def latencies(self, server, call=translate):
        """Returns the milliseconds of each of a few sentences, one after the other."""
        lines = self.lines[:SINGLE_LINES]
        _, statuses, seconds = await translate_all(server.port, lines, 1, self.beam, call)
        assert set(statuses) == {200}, Counter(statuses)
        return [1000 * it for it in seconds]


async def throughput(load):
    ours, command = [], []
    with load.serve() as server:
        await load.rate(server)  # warm-up
        empty = statistics.median(load.command([""])[1] for _ in range(3))
        for _ in range(load.arguments.rounds):
            speed, found = await load.rate(server)
            ours.append(speed)
            translations, seconds = load.command(load.lines)
            command.append(len(load.lines) / (seconds - empty))
            n_equal = sum(a == b for a, b in zip(found, translations))
            assert n_equal == len(load.lines), f"{n_equal} of {len(load.lines)} translations are equal"
        show("32 clients, sentences/s", ours)
        show("translate, sentences/s", command)
        print(f"  ratio {statistics.median(ours) / statistics.median(command):.3f}")
        print(f"  memory of the server {server.memory_mib():.0f} MiB")


async def crowd(load):
    n_clients, waits, ideals, shares = 512, [], [], []
    addresses = [f"127.0.{1 + n // 256}.{n % 256}" for n in range(n_clients)]
    n_lines = load.arguments.waves * n_clients
    lines = (load.lines * (n_lines // len(load.lines) + 1))[:n_lines]
    with load.serve("--max-in-flight", 4 * n_clients) as server:
        await load.rate(server)  # warm-up
        empty = statistics.median(load.command([""])[1] for _ in range(3))
        for _ in range(load.arguments.rounds):
            # The first sentences of all arrive at once, the last ones when few others wait.
            started, of_clients = time.monotonic(), time.process_time()
            _, statuses, seconds = await translate_all(server.port, lines, n_clients, load.beam, addresses=addresses)
            assert set(statuses) == {200}, Counter(statuses)
            elapsed = time.monotonic() - started
            shares.append((time.process_time() - of_clients) / (elapsed * len(os.sched_getaffinity(0))))
            waits.append(quantile(seconds[: -n_clients], 0.99))
            ideals.append(n_clients * (load.command(lines)[1] - empty) / len(lines))
    show("512 clients, 99% wait at most, ms", [1000 * it for it in waits])
    show("512 sentences by translate, ms", [1000 * it for it in ideals])
    ratio, share = statistics.median(waits) / statistics.median(ideals), statistics.median(shares)
    print(f"  ratio {ratio:.3f}, less is better")
    print(f"  the clients took {share:.0%} of the processors; with what they left, the ratio is {ratio * (1 - share):.3f}")


async def single(load):
    ours, command = [], []
    lines = load.lines[:SINGLE_LINES]
    with load.serve() as server:
        await load.latencies(server)  # warm-up
        for _ in range(load.arguments.rounds):
            ours.append(statistics.median(await load.latencies(server)))
            command.append(statistics.median(by_pipe(load, lines)))
    show("one client, ms", ours)
    show("translate through a pipe, ms", command)
    print(f"  ratio {statistics.median(ours) / statistics.median(command):.3f}")


def by_pipe(load, lines):
    """Returns the milliseconds of each line, translated by a program that has started."""
    command = [load.arguments.program, "translate", "--model", load.model, "--quiet", *load.flags()]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, bufsize=1,
    )
    milliseconds = []
    for line in [*lines[:5], *lines]:
        started = time.monotonic()
        process.stdin.write(line + "\n")
        process.stdin.flush()
        process.stdout.readline()
        milliseconds.append(1000 * (time.monotonic() - started))
    process.stdin.close()
    process.wait()
    return milliseconds[5:]


async def equal(load):
    n = 10_000
    lines = [load.lines[index % len(load.lines)] for index in range(n)]
    order = list(range(n))
    random.Random(1).shuffle(order)
    expected, _ = load.command(load.lines)
    with load.serve() as server:
        started = time.monotonic()
        found, statuses, _ = await translate_all(
            server.port, [lines[index] for index in order], 64, load.beam
        )
        seconds = time.monotonic() - started
    different = sum(
        text != expected[index % len(expected)] for text, index in zip(found, order)
    )
    print(f"  {n} sentences from 64 clients in {seconds:.0f} s, statuses {dict(Counter(statuses))}")
    print(f"  {different} differ from the command line")
    if different or set(statuses) != {200}:
        sys.exit(1)


async def overload(load):
    n_clients = 640
    statuses, accepted, memory, bodies = Counter(), [], [], Counter()
    with load.serve("--max-queue-tokens", "2000") as server:
        await load.latencies(server)
        started = time.monotonic()

        async def work(offset):
            client = Client(server.port)
            index = offset
            while time.monotonic() - started < OVERLOAD_SECONDS:
                index += 1
                sent = time.monotonic()
                status, text = await translate(client, load.lines[index % len(load.lines)], load.beam)
                statuses[status] += 1
                if status == 200:
                    accepted.append(time.monotonic() - sent)
                else:
                    bodies[text[:100]] += 1
                    await asyncio.sleep(0.25)
            client.close()

        async def watch():
            while time.monotonic() - started < OVERLOAD_SECONDS:
                memory.append(server.memory_mib())
                await asyncio.sleep(2)

        await asyncio.gather(watch(), *(work(offset) for offset in range(n_clients)))
        seconds = time.monotonic() - started
        after = await load.latencies(server)
        exit_status = server.stop()
    print(f"  {n_clients} clients for {seconds:.0f} s: statuses {dict(statuses)}")
    print(f"  accepted: {len(accepted) / seconds:.1f}/s, p50 {quantile(accepted, 0.5):.2f} s, "
          f"p99 {quantile(accepted, 0.99):.2f} s")
    print(f"  refusals: {bodies.most_common(3)}")
    print(f"  memory {memory[0]:.0f} MiB at first, {max(memory):.0f} at most, {memory[-1]:.0f} at the end")
    print(f"  afterwards one client needs {statistics.median(after):.1f} ms; exit status {exit_status}")
    if set(statuses) - {200, 429} or exit_status != 0:
        sys.exit(1)


async def memory(load):
    n = load.arguments.requests
    lines = [line[:40] for line in load.lines]
    with load.serve() as server:
        tenth = [lines[index % len(lines)] for index in range(n // 10)]
        used = []
        for _ in range(10):
            _, statuses, _ = await translate_all(server.port, tenth, N_CLIENTS, 1)
            assert set(statuses) == {200}, Counter(statuses)
            used.append(server.memory_mib())
            print(f"  {len(used) * len(tenth)} requests: {used[-1]:.1f} MiB", flush=True)
    growth = used[-1] / used[0] - 1
    print(f"  growth {growth:.1%} from a tenth to the end")
    if growth > 0.05:
        sys.exit(1)


async def with_ctranslate2(load):
    exported = load.scratch / "ctranslate2"
    command = [load.arguments.program, "export", "--model", load.model]
    subprocess.run(
        [*command, "--format", "ctranslate2", "--out", exported], check=True, stdout=subprocess.DEVNULL
    )
    folder = Path(__file__).parent
    options = ["--beam", str(load.beam or 4), "--compute-type", {"f32": "float32"}.get(load.arguments.precision, "int8")]
    if load.arguments.length:
        options += ["--length", str(load.arguments.length)]

    def command(n_workers):
        return [
            sys.executable, folder / "ctranslate2_server.py", "--port", "PORT", "--model", exported,
            "--tokenizer", load.model / "tokenizer.json", "--workers", n_workers, *options,
        ]

    with (
        load.serve() as ours,
        Server(command(1), load.scratch / "log1") as one,
        Server(command(os.cpu_count()), load.scratch / "log2") as several,
    ):
        servers = {"ours": ours, "theirs, 1 worker": one, f"theirs, {os.cpu_count()} workers": several}
        rates, milliseconds = ({name: [] for name in servers} for _ in range(2))
        for turn in range(load.arguments.rounds + 1):
            for name, server in servers.items():
                rate, latencies = (await load.rate(server))[0], await load.latencies(server)
                if turn > 0:  # the first one warms up
                    rates[name].append(rate)
                    milliseconds[name].append(statistics.median(latencies))
        for name, server in servers.items():
            show(f"{name}: sentences/s of 32 clients", rates[name])
            show(f"{name}: ms of one client", milliseconds[name])
            print(f"  {name}: {server.memory_mib():.0f} MiB")

    def medians(values):
        found = {name: statistics.median(of_server) for name, of_server in values.items()}
        return found.pop("ours"), found.values()

    (rate, rates), (latency, latencies) = medians(rates), medians(milliseconds)
    print(f"  32 clients: ours/theirs {rate / max(rates):.2f} (more is better)")
    print(f"  one client: ours/theirs {latency / min(latencies):.2f} (less is better)")


def show(name, values):
    print(f"  {name}: {statistics.median(values):.1f} ({', '.join(f'{it:.1f}' for it in values)})", flush=True)


SCENARIOS = {
    "throughput": throughput, "crowd": crowd, "single": single, "equal": equal, "overload": overload, "memory": memory,
    "ctranslate2": with_ctranslate2,
}

if __name__ == "__main__":
    main()
