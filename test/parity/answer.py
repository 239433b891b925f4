"""Asks an installed version of the reference for what we compare with it. tools/parity runs this in the version's environment.

    answer.py openapi             writes the OpenAPI document
    answer.py vectors DIRECTORY   answers the vectors of schedules, cron, matching and sequences of events again, and prints every answer
                                  that differs

A difference is explained by a pattern in intended-differences.txt, beside this file. The exit code is 1 if one is not.
"""

import asyncio
import datetime
import fnmatch
import json
import os
import pathlib
import sys
import tempfile
import warnings

import sequences

warnings.simplefilter("ignore")


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def written(date):
    return date.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def dates(schedule, **bounds):
    return [written(d) for d in asyncio.run(schedule.get_dates(**bounds))]


def schedule_of(definition):
    import pydantic
    from prefect.server.schemas import schedules

    return pydantic.TypeAdapter(schedules.SCHEDULE_TYPES).validate_python(definition)


def answer_schedule(vector):
    """Returns the answer to a vector in the form of its file: the dates, or when an error occurs."""
    try:
        schedule = schedule_of(vector["schedule"])
    except Exception as error:
        return {"error": "create" if type(error).__name__ == "ValidationError" else "create-crash"}
    bounds = {"start": instant(vector["start"]), "n": vector.get("n")}
    if vector.get("end"):
        bounds["end"] = instant(vector["end"])
    try:
        found = dates(schedule, **bounds)
    except Exception:
        return {"error": "dates"}
    if "expect_count" in vector:
        first, last = len(vector["expect_first"]), len(vector["expect_last"])
        return {"expect_count": len(found), "expect_first": found[:first], "expect_last": found[-last:]}
    return {"expect": found}


def schedule_differences(path):
    for vector in lines(path):
        recorded = {key: vector[key] for key in ("expect", "expect_count", "expect_first", "expect_last", "error") if key in vector}
        if isinstance(recorded.get("error"), dict):
            recorded["error"] = recorded["error"]["at"]
        if recorded.get("error") == "slow":
            continue
        answer = answer_schedule(vector)
        if "error" in recorded:
            recorded = {"error": recorded["error"]}
        if answer != recorded:
            yield f"schedule {vector['id']} {json.dumps(vector['schedule'])}: {answer} instead of {recorded}"


def cron_differences(path):
    for vector in lines(path):
        definition = {"cron": vector["expr"], "timezone": vector["tz"]} | {key: vector[key] for key in ("day_or",) if key in vector}
        # The start of these vectors is no date itself.
        start = instant(vector["start"]) + datetime.timedelta(microseconds=1)
        try:
            found = dates(schedule_of(definition), start=start, n=len(vector["next"]))
        except Exception as error:
            found = type(error).__name__
        if found != vector["next"]:
            yield f"cron {vector['expr']} {vector['tz']} {vector['start']}: {found} instead of {vector['next']}"


def matching_differences(path):
    from prefect.server.events.schemas.events import ReceivedEvent
    from prefect.server.events.schemas.automations import EventTrigger

    for vector in lines(path):
        given = {key: vector[key] for key in ("match", "match_related", "expect", "after") if key in vector}
        event = {"occurred": "2026-01-01T00:00:00Z", "id": "00000000-0000-4000-8000-000000000000", "payload": {}} | vector["event"]
        try:
            trigger, received = EventTrigger(posture="Reactive", threshold=1, within=0, **given), ReceivedEvent(**event)
            # The first only preselects: it takes names for prefixes.
            named = trigger.expects(received.event) or bool(trigger.after) and trigger.starts_after(received.event)
            matches = trigger.covers(received) and named
        except Exception as error:
            matches = type(error).__name__
        if matches != vector["matches"]:
            yield f"matching {vector['name']}: {matches} instead of {vector['matches']}"


def sequence_differences(*files):
    async def listed():
        return [d async for d in sequences.differences(case for file in files for case in lines(file))]

    yield from asyncio.run(listed())


def explained():
    """Returns the patterns of the list of intended differences; lines that begin with # give the reasons."""
    text = (pathlib.Path(__file__).parent / "intended-differences.txt").read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def vectors(root):
    root = pathlib.Path(root)
    automations = root / "services/orchestration/internal/automations/simulate/testdata"
    patterns, unexplained = explained(), 0
    for answers in (
        schedule_differences(root / "pkg/schedule/testdata/vectors.jsonl"),
        cron_differences(root / "pkg/schedule/testdata/cron-vectors.jsonl"),
        matching_differences(automations / "matching.jsonl"),
        # These are last: they stop the clock.
        sequence_differences(automations / "vectors.jsonl", automations / "held-events.jsonl"),
    ):
        for difference in answers:
            if not any(fnmatch.fnmatchcase(difference, pattern) for pattern in patterns):
                unexplained += 1
                print(difference)
    print(f"vectors: {unexplained} unexplained differences")
    return unexplained > 0


def openapi():
    from prefect.server.api.server import create_api_app

    json.dump(create_api_app().openapi(), sys.stdout)


def main():
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {
            "PREFECT_HOME": home,
            "PREFECT_API_DATABASE_CONNECTION_URL": "sqlite+aiosqlite:///file::memory:?cache=shared&uri=true&check_same_thread=false",
            "PREFECT_LOGGING_LEVEL": "ERROR",
            "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
        }
        if sys.argv[1] == "openapi":
            openapi()
            return 0
        return vectors(sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
