"""FLOWS runs in one process, each with a task every EVERY seconds, until the file UNTIL exists. Every tenth of them calls the API too. The
server is away, or in maintenance, meanwhile."""
import asyncio
from _lib import *
from prefect import flow, get_client, task
from prefect.context import get_run_context

FLOWS, EVERY, UNTIL = int(os.environ["FLOWS"]), float(os.environ["EVERY"]), os.environ["UNTIL"]
tasks = 0

@task
async def step(n): return n

@flow(name=os.environ["FLOW_NAME"])
async def steady(i):
    global tasks
    n = 0
    while n == 0 or not os.path.exists(UNTIL):
        if i % 10 == 0:
            async with get_client() as client:
                await client.read_flow_run(get_run_context().flow_run.id)
        await step(n)
        n += 1; tasks += 1
        await asyncio.sleep(EVERY)

async def flows():
    starts = asyncio.Semaphore(10)
    async def start(i):
        async with starts: await asyncio.sleep(0.1 * (i % 10))
        return await steady(i, return_state=True)
    return await asyncio.gather(*(start(i) for i in range(FLOWS)), return_exceptions=True)

def main():
    states = asyncio.run(flows())
    print(f"TASKS {tasks}", flush=True)
    failed = [s for s in states if isinstance(s, BaseException) or not s.is_completed()]
    check(not failed, f"{len(failed)} of {FLOWS} flows did not complete: {failed[:3]!r}")

if __name__ == "__main__": run(main)
