"""(m) an async flow: gathered async tasks, a map with retries, a cached map, subflows two levels deep, a task that fails for good
and one that times out, a flow run read with its children."""
from _lib import *
import asyncio
from datetime import timedelta
from prefect import flow, task, tags, unmapped, runtime
from prefect.cache_policies import INPUTS
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (FlowRunFilter, FlowRunFilterParentFlowRunId, TaskRunFilter, TaskRunFilterFlowRunId,
                                            TaskRunFilterState, TaskRunFilterStateType)
from prefect.client.schemas.sorting import TaskRunSort
from prefect.futures import wait

tried = {}

@task(retries=2, retry_delay_seconds=0.1, task_run_name="odd-{n}")
async def odd_fails_once(n, factor):
    tried[n] = tried.get(n, 0) + 1
    if n % 2 and tried[n] == 1: raise ValueError(f"{n} is odd")
    return n * factor

@task(cache_policy=INPUTS, cache_expiration=timedelta(minutes=5), persist_result=True)
async def remembered(n, salt): return n + 100

@task
async def gathered(n):
    await asyncio.sleep(0.05)
    return runtime.task_run.id

@task(timeout_seconds=0.3)
async def slow(): await asyncio.sleep(20)

@task
def hopeless(): raise RuntimeError("for good")

@flow(name=f"scn-m-grandchild-{UID}")
async def grandchild(n): return await gathered(n)

@flow(name=f"scn-m-child-{UID}")
async def child(n): return await grandchild(n)

@flow(name=f"scn-m-{UID}")
async def parent():
    ids = await asyncio.gather(*[gathered(n) for n in range(4)])
    odd = odd_fails_once.map(range(6), factor=unmapped(10))
    first = remembered.map([1, 2, 3], salt=unmapped(UID))
    wait(first)
    again = remembered.map([1, 2, 3], salt=unmapped(UID))
    with tags("inner"): nested = await child(7)
    late = await slow(return_state=True)
    bad = hopeless.submit(); bad.wait()
    after = gathered.submit(1, wait_for=[bad]); after.wait()
    return {"ids": [str(i) for i in ids], "odd": [f.result() for f in odd], "again": [f.result() for f in again],
            "nested": str(nested), "late": late.name, "bad": bad.state.name, "after": after.state.name}

async def story():
    st = await parent(return_state=True)
    check(st.is_completed(), f"the async flow completes: {st}")
    r = await st.aresult()
    check(r["odd"] == [0, 10, 20, 30, 40, 50] and r["again"] == [101, 102, 103], f"mapped results {r['odd']} {r['again']}")
    check((r["late"], r["bad"], r["after"]) == ("TimedOut", "Failed", "NotReady"), f"timeout, failure and what waited for it: {r}")
    async with get_client() as c:
        frid = st.state_details.flow_run_id
        by_flow = TaskRunFilter(flow_run_id=TaskRunFilterFlowRunId(any_=[frid]))
        end = time.time() + LIMIT
        while True: # 4 gathered, 6 odd, 3 + 3 remembered, the child's shadow, slow, hopeless, what waited for it
            runs = await c.read_task_runs(task_run_filter=by_flow, sort=TaskRunSort.END_TIME_DESC, limit=200)
            unready = [t for t in runs if not (t.state and t.state.is_final())]
            if len(runs) == 20 and [t.state.name for t in unready] == ["NotReady"] or time.time() > end: break # its last event may be on its way
            await asyncio.sleep(0.2)
        check(len(runs) == 20 and [t.state.name for t in unready] == ["NotReady"], f"20 task runs, all final but one ({len(runs)}, {unready})")
        ends = [t.end_time for t in runs if t.end_time]
        check(ends == sorted(ends, reverse=True), "sorted by their end")
        odd = {t.name: t.run_count for t in runs if t.name.startswith("odd-")}
        check(odd == {f"odd-{n}": 1 + n % 2 for n in range(6)}, f"those that failed once ran twice: {odd}")
        check(sum(t.state.name == "Cached" for t in runs) == 3, "three came from the cache")
        check(len({t.dynamic_key for t in runs if t.name.startswith("remembered")}) == 6, "every mapped run has a key of its own")
        failed = await c.read_task_runs(task_run_filter=TaskRunFilter(flow_run_id=by_flow.flow_run_id,
                                        state=TaskRunFilterState(type=TaskRunFilterStateType(any_=["FAILED"]))))
        check({t.state.name for t in failed} == {"TimedOut", "Failed"} and len(failed) == 2, f"failed ones by state: {[t.state.name for t in failed]}")
        kids = await c.read_flow_runs(flow_run_filter=FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[frid])))
        check(len(kids) == 1 and kids[0].parent_task_run_id in {t.id for t in runs} and "inner" in kids[0].tags, "one child, tied to its task run, with the tags")
        deep = await c.read_flow_runs(flow_run_filter=FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[kids[0].id])))
        check(len(deep) == 1 and deep[0].state.is_completed() and "inner" in deep[0].tags, "one grandchild")
        shadow = [t for t in runs if t.id == kids[0].parent_task_run_id][0]
        check(shadow.state.is_completed() and shadow.state.state_details.child_flow_run_id == kids[0].id, "the parent's task run follows the child")
        graph = (await c.request("GET", "/flow_runs/{id}/graph-v2", path_params={"id": str(frid)})).json()
        check(len(graph["nodes"]) == 20, f"the graph has them all ({len(graph['nodes'])})")

def main(): asyncio.run(story())

if __name__ == "__main__": run(main)
