"""Writes the revisions of the schema: revisions.py SITE-PACKAGES, of the newest version that is known."""

import pathlib
import re
import sys

# The last revisions that a release of Prefect 2 has, and the first that only Prefect 3 has.
FIRST = {"sqlite": "2ac65f1758c2", "postgresql": "94622c1663e8"}

versions = pathlib.Path(sys.argv[1]) / "prefect/server/database/_migrations/versions"
for dialect, first in FIRST.items():
    below = {}
    for file in (versions / dialect).glob("*.py"):
        text = file.read_text()
        revision = re.search(r'^revision\b.*=\s*"(\w+)"', text, re.M).group(1)
        found = re.search(r'^down_revision\b.*=\s*"(\w+)"', text, re.M)
        below[revision] = found and found.group(1)
    (revision,) = below.keys() - below.values()
    chain = []
    while revision:
        chain.insert(0, revision)
        revision = below[revision]
    at = chain.index(first)
    out = pathlib.Path(__file__).with_name(f"revisions-{dialect}.txt")
    out.write_text("\n".join(chain[:at]) + "\n\n" + "\n".join(chain[at:]) + "\n")
