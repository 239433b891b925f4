"""Measure CPython's Jinja2 on the cases: one JSON line per case with nanoseconds per compilation and rendering."""

import json
import pathlib
import sys
import time

from jinja2 import ChainableUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

EXTENSIONS = ["jinja2_humanize_extension.HumanizeExtension"]


def best(function, seconds=0.3, rounds=5):
    """Return the least time of one call over several rounds, in nanoseconds."""
    function()
    count, elapsed = 1, 0.0
    while elapsed < seconds / rounds:
        count *= 2
        start = time.perf_counter()
        for _ in range(count):
            function()
        elapsed = time.perf_counter() - start
    least = elapsed / count
    for _ in range(rounds - 1):
        start = time.perf_counter()
        for _ in range(count):
            function()
        least = min(least, (time.perf_counter() - start) / count)
    return least * 1e9


def main():
    env = ImmutableSandboxedEnvironment(undefined=ChainableUndefined, extensions=EXTENSIONS, cache_size=0)
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.j2")):
        source = path.read_text()
        context = json.loads(path.with_suffix(".json").read_text())
        template = env.from_string(source)
        print(json.dumps({
            "name": path.stem,
            "compile": best(lambda: env.from_string(source)),
            "render": best(lambda: template.render(context)),
            "output": template.render(context),
        }), flush=True)


if __name__ == "__main__":
    main()
