"""(p) emitted events seen live and backfilled by a subscriber, found again by filters and page by page; the events of a flow run's life."""
from _lib import *
import asyncio
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.events import emit_event
from prefect.events.clients import get_events_client, get_events_subscriber
from prefect.events.filters import EventAnyResourceFilter, EventFilter, EventNameFilter, EventOrder, EventRelatedFilter, EventResourceFilter
from prefect.events.schemas.events import Event, RelatedResource, Resource

def res(n): return {"prefect.resource.id": f"scn.p.{UID}.{n}", "kind": "test", "n": str(n)}

@task
def inside():
    emit_event(event=f"scn.p.{UID}.inside", resource=res("inside"), payload={"deep": {"list": [1, None, "ü"]}})

@flow(name=f"scn-p-{UID}")
def emitting(): inside()

async def collect(subscriber, count):
    seen = []
    async def go():
        async for event in subscriber:
            seen.append(event)
            if len(seen) == count: return
    try: await asyncio.wait_for(go(), LIMIT)
    except asyncio.TimeoutError: pass
    return seen

async def story():
    mine = EventNameFilter(prefix=[f"scn.p.{UID}."]) # A whole filter ends at the time when it was made.
    async with get_events_client() as out:
        for n in range(3): await out.emit(Event(event=f"scn.p.{UID}.before", resource=Resource(res(n))))
    async with get_client() as c:
        end = time.time() + LIMIT
        while (await c.read_events(filter=EventFilter(event=mine), limit=50)).total < 3 and time.time() < end: await asyncio.sleep(0.1)
    async with get_events_subscriber(filter=EventFilter(event=mine)) as live:
        async with get_events_client() as out:
            for n in range(60):
                await out.emit(Event(event=f"scn.p.{UID}.during", resource=Resource(res(n)), payload={"n": n},
                                     related=[RelatedResource({"prefect.resource.id": f"scn.p.{UID}.group.{n % 3}", "prefect.resource.role": "group"})]))
        seen = await collect(live, 63)
    check([e.event.rsplit(".", 1)[1] for e in seen] == ["before"] * 3 + ["during"] * 60, f"three from before, then sixty live ({len(seen)})")
    check([e.payload["n"] for e in seen[3:]] == list(range(60)) and len({e.id for e in seen}) == 63, "in order, each once")

    st = await asyncio.to_thread(emitting, return_state=True)
    frid = str(st.state_details.flow_run_id)
    def about_run(): return EventFilter(any_resource=EventAnyResourceFilter(id=[f"prefect.flow-run.{frid}"]), order=EventOrder.ASC)
    wanted = ["Pending", "Running", "Completed"]
    async with get_client() as c:
        async def page(f, limit=50): return await c.read_events(filter=f, limit=limit)
        async def names(): return [e.event for e in (await page(about_run())).events]
        end = time.time() + LIMIT
        while time.time() < end:
            got = await names()
            if all(f"prefect.{k}-run.{s}" in got for k in ("flow", "task") for s in wanted) and f"scn.p.{UID}.inside" in got: break
            await asyncio.sleep(0.2)
        check([n for n in got if n.startswith("prefect.flow-run.") and not n.endswith(".heartbeat")] == [f"prefect.flow-run.{s}" for s in wanted], f"the flow run's life {got}")
        check([n for n in got if n.startswith("prefect.task-run.")] == [f"prefect.task-run.{s}" for s in wanted], "the task run's life")
        own = [e for e in (await page(EventFilter(event=EventNameFilter(name=[f"scn.p.{UID}.inside"])))).events]
        roles = {r.role for r in own[0].related}
        check(len(own) == 1 and {"flow-run", "task-run", "flow"} <= roles and own[0].payload == {"deep": {"list": [1, None, "ü"]}}, f"related {roles}")
        ends = [e for e in (await page(about_run())).events if e.event == "prefect.flow-run.Completed"][0]
        check(ends.follows is not None and ends.resource["prefect.state-type"] == "COMPLETED" and ends.payload["validated_state"]["type"] == "COMPLETED",
              f"what a state's event says: {ends.resource}")

        first = await page(EventFilter(event=EventNameFilter(name=[f"scn.p.{UID}.during"]), order=EventOrder.ASC), 25)
        pages, nxt = [first], first.next_page
        while nxt:
            pages.append(await c.read_events_page(nxt)); nxt = pages[-1].next_page
        ns = [e.payload["n"] for p in pages for e in p.events]
        check(first.total == 60 and [len(p.events) for p in pages] == [25, 25, 10] and ns == list(range(60)), f"three pages {[len(p.events) for p in pages]}")
        newest = await page(EventFilter(event=EventNameFilter(prefix=[f"scn.p.{UID}.d"])), 1)
        check(newest.events[0].payload == {"n": 59}, "newest first")
        for what, f, want in [
            ("resource id", EventFilter(event=mine, resource=EventResourceFilter(id=[res(7)["prefect.resource.id"]])), 1),
            ("resource id prefix", EventFilter(event=mine, resource=EventResourceFilter(id_prefix=[f"scn.p.{UID}.1"])), 12),
            ("resource labels", EventFilter(event=mine, resource=EventResourceFilter(labels={"kind": "test", "n": ["5", "6"]})), 2),
            ("label pattern", EventFilter(event=mine, resource=EventResourceFilter(labels={"n": "4*"})), 11),
            ("related id and role", EventFilter(related=EventRelatedFilter(id=[f"scn.p.{UID}.group.1"], role=["group"])), 20),
            ("related in role", EventFilter(related=EventRelatedFilter(resources_in_roles=[(f"scn.p.{UID}.group.2", "group")])), 20),
            ("any resource prefix", EventFilter(any_resource=EventAnyResourceFilter(id_prefix=[f"scn.p.{UID}.group."])), 60),
            ("excluded name", EventFilter(event=EventNameFilter(prefix=[f"scn.p.{UID}."], exclude_name=[f"scn.p.{UID}.during"])), 4),
        ]:
            p = await page(f)
            check(p.total == want and len(p.events) == min(want, 50), f"events by {what}: {p.total} of {want}")

def main(): asyncio.run(story())

if __name__ == "__main__": run(main)
