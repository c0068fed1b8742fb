"""The service under load, on loopback: throughput, latencies, errors, memory.

``prefmover serve`` runs as a separate process. The clients are connections of this process; each sends its next
request as soon as it has the last response. Users, items and ratings are random, so that hardly a response
comes from the cache.

    python benchmarks/bench_server.py                          cinema, and ml-1m where PREFMOVER_DATA has it
    python benchmarks/bench_server.py --datasets cinema --seconds 2 --guests 200 --export ''
    python benchmarks/bench_server.py --model-folder FOLDER    a model saved by `prefmover fit`

The model of a data set is fitted the first time, which takes minutes for ml-1m and lastfm, and stored. After that,
the service takes some ten minutes, and the export about as long. The first model also answers 10,000 guests who
are all different, to see whether memory grows, and Chromium opens the explorer's pages.
"""

import asyncio
import json
import math
import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote

from bench import arguments, dataset, publish, table
from paint import paint, painted
from prefmover import Recommender
from prefmover.model import cache
from prefmover.server.served import ServedModel
from prefmover.server.site import export_site

CLIENTS = (1, 8, 32)
GUEST_CLIENTS = 4
LOOKS = 10  # at the memory, while the guests come
TARGET = 40  # ms, p50 of recommendations for a guest with four clients on two cores
RATINGS = 12  # of a guest, among the 200 most rated items


class Timing(NamedTuple):
    """The kind of a request, its status and its time."""

    kind: str
    status: int
    seconds: float


class Service:
    """A served model, stopped at the end."""

    def __init__(self, *source: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "prefmover.cli", "serve", *source, "--port", "0", "--access-log"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        if not address:
            raise SystemExit(f"the service did not start; `prefmover serve {' '.join(source)}` says why")
        host, _, port = address.removeprefix("http://").strip("/").partition(":")
        self.address = host, int(port)

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(60)


class Connection:
    """A client with a persistent connection and as little HTTP as possible: only the service is measured."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, path: str, body: Any = None) -> tuple[int, bytes]:
        """Return the status and the body of a response."""
        if self.streams is None:
            self.streams = await asyncio.open_connection(*self.address)
        reader, writer = self.streams
        content = b"" if body is None else json.dumps(body).encode()
        kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n" if content else ""
        writer.write(
            f"{'POST' if content else 'GET'} {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\n".encode()
            + content
        )
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length:")[2].split("\r\n")[0])
        return int(head.split()[1]), await reader.readexactly(length)

    def close(self) -> None:
        """Close the connection."""
        if self.streams is not None:
            self.streams[1].close()


class Requests:
    """Random requests to one model."""

    def __init__(self, users: list[str], items: list[str], scale: dict[str, float], seed: int) -> None:
        self.users, self.items, self.scale, self.dice = users, items, scale, random.Random(seed)

    def guest(self) -> list[dict[str, Any]]:
        """Return the ratings of a guest."""
        step = self.scale["step"] or 1.0
        levels = int((self.scale["highest"] - self.scale["lowest"]) / step) + 1
        some = self.dice.sample(self.items, min(RATINGS, len(self.items)))
        return [
            {"item": item, "rating": self.scale["lowest"] + step * self.dice.randrange(levels)}
            for item in some
        ]

    def guest_recommendations(self) -> tuple[str, str, Any]:
        """Return a request for the recommendations of a guest."""
        return "guest recommendations", "/api/v1/recommendations", {"ratings": self.guest()}

    def any(self) -> tuple[str, str, Any]:
        """Return a request of a random kind."""
        user, other = self.dice.sample(self.users, 2)
        item = quote(self.dice.choice(self.items), safe="")
        return self.dice.choice(
            [
                ("find users", f"/api/v1/users?q={quote(other[:2])}&offset={self.dice.randrange(50)}", None),
                ("a user", f"/api/v1/users/{quote(user, safe='')}", None),
                ("neighbors", "/api/v1/neighbors", {"user": user}),
                ("recommendations", "/api/v1/recommendations", {"user": user}),
                ("a pair", "/api/v1/explanations", {"user": user, "other": other}),
                ("all measures", "/api/v1/comparison", {"user": user, "other": other}),
                ("near items", f"/api/v1/items/{item}/near?k={self.dice.randrange(1, 100)}", None),
                ("guest neighbors", "/api/v1/neighbors", {"ratings": self.guest()}),
                self.guest_recommendations(),
            ]
        )


async def load(
    address: tuple[str, int], clients: int, seconds: float, request: Any, most: float = math.inf
) -> list[Timing]:
    """Send requests from some clients for some time, or so many of them, and return the timings."""
    timings: list[Timing] = []
    end = time.perf_counter() + seconds

    async def client() -> None:
        connection = Connection(address)
        while (begin := time.perf_counter()) < end and len(timings) < most:
            kind, path, body = request()
            status, _ = await connection.send(path, body)
            timings.append(Timing(kind, status, time.perf_counter() - begin))
        connection.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return timings


async def ready(service: Service) -> None:
    """Wait until a service is ready, or end with it."""
    connection = Connection(service.address)
    while (answer := await connection.send("/readyz"))[0] != 200:
        if service.process.poll() is not None or json.loads(answer[1]).get("state") == "failed":
            raise SystemExit("the service cannot become ready; `prefmover serve` says why")
        await asyncio.sleep(0.1)
    connection.close()


async def memory(address: tuple[str, int]) -> float:
    """Return the memory of the service, in MiB."""
    connection = Connection(address)
    text = (await connection.send("/metrics"))[1].decode()
    connection.close()
    return float(text.partition("\nprocess_resident_memory_bytes ")[2].split()[0]) / 2**20


async def listed(address: tuple[str, int], path: str, key: str) -> list[str]:
    connection = Connection(address)
    content = (await connection.send(path))[1]
    connection.close()
    return [one["id"] for one in json.loads(content)[key]]


def percentile(seconds: list[float], share: float) -> str:
    if not seconds:
        return "-"
    ordered = sorted(seconds)
    return f"{1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]:,.1f}"


async def measure(service: Service, seconds: float, n_guests: int) -> dict[str, Any]:
    await ready(service)
    address = service.address
    users = [
        id_
        for k in range(0, 1000, 200)
        for id_ in await listed(address, f"/api/v1/users?limit=200&offset={k}", "users")
    ]
    items = await listed(address, "/api/v1/items?limit=200", "items")
    connection = Connection(address)
    info = json.loads((await connection.send("/api/v1/model"))[1])
    connection.close()
    requests = Requests(users, items, info["scale"], seed=1)
    await load(address, CLIENTS[-1], min(seconds, 5.0), requests.any)  # warm up
    before = await memory(address)
    mixed = {n: await load(address, n, seconds, requests.any) for n in CLIENTS}
    after = await memory(address)
    guests = await load(address, GUEST_CLIENTS, min(seconds, 20.0), requests.guest_recommendations)
    sizes: list[float] = []
    for _ in range(LOOKS if n_guests else 0):
        guests += await load(
            address, GUEST_CLIENTS, math.inf, requests.guest_recommendations, n_guests // LOOKS
        )
        sizes.append(await memory(address))
    return {
        "sizes": sizes, "info": info, "mixed": mixed, "guests": guests, "before": before, "after": after,
        "users": users, "items": items,
    }  # fmt: skip


def numbers(some: list[Timing]) -> list[str]:
    """Return the median time, the 99th percentile, and the errors, as cells of a table."""
    errors = Counter(one.status for one in some if one.status != 200)
    times = [one.seconds for one in some]
    failed = ", ".join(f"{count} x {status}" for status, count in errors.items()) or "0"
    return [percentile(times, 0.5), percentile(times, 0.99), failed]


def exported(name: str) -> list[Any]:
    """Return the parts of a section: how long an export of the explorer takes, and how large it is."""
    if not name:
        return []
    print("exporting", name, file=sys.stderr)
    data = dataset(name)
    served = ServedModel(cache.fit_once(Recommender(), data))
    with TemporaryDirectory() as folder:
        begin, used = time.perf_counter(), time.process_time()
        size = export_site(served, Path(folder))
        row = [f"{name} ({data.n_users:,} users, {data.n_items:,} items)", f"{size / 1e6:,.0f}"]
        row += [f"{time.perf_counter() - begin:,.0f}", f"{time.process_time() - used:,.0f}"]
    lead = "The explorer as a folder of files (`prefmover export-site`), the model fitted before:"
    return [lead, table(["data", "MB", "s", "CPU s"], [row])]


def main() -> None:
    export = "lastfm" if os.environ.get("PREFMOVER_DATA") else "cinema"
    options = arguments(__doc__, seconds=15.0, guests=10_000, export=export, model_folder="")
    sources = [
        ("--dataset", name)
        for name in ["cinema", *(n for n in options.datasets if n not in ("cinema", "ml-100k"))]
    ]
    if options.model_folder:
        sources = [("--model", options.model_folder)]
    rows, kinds, guests, sizes, paints, grown = [], {}, [], [], {}, []
    for source in sources:
        print("serving", *source, file=sys.stderr)
        n_guests = options.guests if source is sources[0] else 0
        with Service(*source) as service:
            result = asyncio.run(measure(service, options.seconds, n_guests))
            pages = paint(service.address, result["users"], result["items"])
        info, mixed = result["info"], result["mixed"]
        name = f"{info['name']} ({info['n_users']:,} users, {info['n_ratings']:,} ratings)"
        by_kind: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for n, some in mixed.items():
            rows.append([name, str(n), f"{len(some) / options.seconds:,.0f}", *numbers(some)])
            for one in some:
                by_kind[one.kind][n].append(one.seconds)
        kinds[name] = by_kind
        paints[info["name"]] = pages
        sizes.append(f"{name}: {result['before']:,.0f} → {result['after']:,.0f} MiB")
        for k, size in enumerate(result["sizes"], 1):
            grown.append([f"{k * n_guests // LOOKS:,}", f"{size:,.1f}"])
        guests.append([name, f"{len(result['guests']):,}", *numbers(result["guests"]), str(TARGET)])
    names = sorted({kind for some in kinds.values() for kind in some})
    columns = [(model, n) for model in kinds for n in CLIENTS]
    parts = [
        f"Clients send requests of random kinds, for random users and items, for {options.seconds:g} s each.",
        table(["model", "clients", "requests/s", "p50, ms", "p99, ms", "errors"], rows),
        f"Memory of the service, before and after: {'; '.join(sizes)}.",
        f"The same on {rows[0][0].partition(' ')[0]} while guests come, each with other ratings:",
        table(["guests", "MiB"], grown),
        "p50 by kind of request, ms:",
        table(
            ["request", *(f"{model.partition(' ')[0]}, {n}" for model, n in columns)],
            [[kind, *(percentile(kinds[model][kind][n], 0.5) for model, n in columns)] for kind in names],
        ),
        f"Recommendations with reasons for a guest ({RATINGS} ratings), {GUEST_CLIENTS} clients:",
        table(["model", "requests", "p50, ms", "p99, ms", "errors", "target, p50"], guests),
        *painted(paints),
        *exported(options.export),
    ]
    publish("server", "Service", parts, options)


if __name__ == "__main__":
    main()
