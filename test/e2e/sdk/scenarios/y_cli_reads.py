"""(y) thirteen commands that read, after others that create what they show; with every SDK since 3.0."""
from _lib import *
import asyncio, httpx
from prefect import flow
from prefect.automations import Automation
from prefect.events.actions import DoNothing
from prefect.events.schemas.automations import EventTrigger

http = httpx.Client(base_url=API, timeout=LIMIT)

@flow(name=f"scn-y-{UID}")
def read(): pass

def now(value): return asyncio.run(value) if asyncio.iscoroutine(value) else value

def main():
    read()
    pool, tag, limit, variable = f"y-pool-{UID}", f"y-tag-{UID}", f"y-limit-{UID}", f"y_var_{UID}"
    cli("work-pool", "create", pool, "--type", "process")
    cli("work-queue", "create", f"y-queue-{UID}", "--pool", pool)
    cli("concurrency-limit", "create", tag, "2")
    cli("gcl", "create", limit, "--limit", "3")
    cli("variable", "set", variable, "v")
    trigger = EventTrigger(expect={"scn.y"}, match={"prefect.resource.id": "y.*"}, posture="Reactive", threshold=1, within=0)
    made = now(Automation(name=f"y-auto-{UID}", trigger=trigger, actions=[DoNothing()]).create())
    check(http.get(f"/automations/{made.id}").json()["actions"][0]["type"] == "do-nothing", "an automation")
    reads = {
        ("version",): "Server", ("config", "view"): "PREFECT", ("profile", "ls"): "", ("flow", "ls"): f"scn-y-{UID}", ("flow-run", "ls"): f"scn-y-{UID}",
        ("deployment", "ls"): "", ("work-pool", "ls"): pool, ("work-queue", "ls", "--pool", pool): f"y-queue-{UID}", ("block", "type", "ls"): "secret",
        ("variable", "ls"): variable, ("automation", "ls"): f"y-auto-{UID}", ("concurrency-limit", "ls"): tag, ("gcl", "ls"): limit,
    }
    for command, shown in reads.items():
        check(shown in cli(*command), "prefect " + " ".join(command))

if __name__ == "__main__": run(main)
