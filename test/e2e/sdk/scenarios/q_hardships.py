"""(q) what goes wrong for users: a flow process that is killed, a run cancelled from elsewhere while it runs, thousands of log lines,
a map wider than its limit, threads and processes, a subscriber that joins late, hostile clocks and characters."""
from _lib import *
import asyncio, logging
from datetime import datetime, timedelta, timezone
from prefect import flow, task, get_run_logger, unmapped
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import *
from prefect.client.schemas.sorting import LogSort
from prefect.states import Cancelling, Cancelled, Crashed, Running
from prefect.task_runners import ThreadPoolTaskRunner, ProcessPoolTaskRunner

SRC = f'''
import time, sys
from prefect import flow, task
@task
def quick(): return 1
@flow(name="scn-q-killed-{UID}")
def killed():
    quick(); print("READY", flush=True); time.sleep(3600)
killed()
'''

@task(tags=[f"narrow-{UID}"])
def narrow(n): return n
@task(retries=2, retry_delay_seconds=0)
def wobbly(n):
    from prefect import runtime
    if n % 10 == 0 and runtime.task_run.run_count == 1: raise ValueError(n)
    return n
@flow(name=f"scn-q-wide-{UID}", task_runner=ThreadPoolTaskRunner(max_workers=16))
def wide(): return sum(wobbly.map(range(200)).result())
@flow(name=f"scn-q-limited-{UID}", task_runner=ThreadPoolTaskRunner(max_workers=6))
def limited(): return sum(narrow.map(range(8)).result())
@task
def square(n): return n * n
@flow(name=f"scn-q-process-{UID}", task_runner=ProcessPoolTaskRunner(max_workers=2))
def processes(): return sum(square.map(range(4)).result())
@flow(name=f"scn-q-logs-{UID}")
def talkative():
    log = get_run_logger()
    for i in range(5000): log.info("line %d ü\u2028\x01", i)
@flow(name=f"ü 😀 \"'\\ -{UID}", flow_run_name="läuft-{x}")
def odd(x, **more): return [x, more]

def main():
    with get_client(sync_client=True) as c:
        def states(id): return [s.name for s in sorted(c.read_flow_run_states(id), key=lambda s: s.timestamp)]
        def runs_of(name): return c.read_flow_runs(flow_filter=FlowFilter(name=FlowFilterName(any_=[name])))
        def tasks_of(id, n, names=None):
            def look():
                found = []
                while len(page := c.read_task_runs(task_run_filter=TaskRunFilter(flow_run_id=TaskRunFilterFlowRunId(any_=[id])), limit=200, offset=len(found))): found += page
                return found if len(found) == n and all(t.state and t.state.is_final() for t in found) else None
            return wait_for(look, f"{n} task runs in a final state")

        path = os.path.join(HOME, "killed.py"); open(path, "w").write(SRC)
        p = spawn([sys.executable, path])
        wait_for(lambda: "READY" in child_log(p), "the flow that is to be killed")
        os.killpg(p.pid, signal.SIGKILL); p.wait()
        gone = runs_of(f"scn-q-killed-{UID}")[0]
        check(gone.state.name == "Running", "nobody told the server that the process died")
        check(c.set_flow_run_state(gone.id, Crashed(message="found dead")).status.value == "ACCEPT" and states(gone.id) == ["Pending", "Running", "Crashed"], "whoever finds out may say so")

        c.create_concurrency_limit(f"narrow-{UID}", 3)
        st = limited(return_state=True)
        check(st.is_completed() and st.result() == 28, f"a map through a narrow limit: {st}")
        check(c.read_concurrency_limit_by_tag(f"narrow-{UID}").active_slots == [], "its slots are back")
        st = wide(return_state=True)
        check(st.is_completed() and st.result() == 19900, f"a map of 200, of which 20 fail at first: {st}")
        runs = tasks_of(st.state_details.flow_run_id, 200)
        check(sum(t.run_count for t in runs) == 220 and {t.state.name for t in runs} == {"Completed"}, "220 attempts are known")
        st = processes(return_state=True)
        check(st.is_completed() and st.result() == 14, f"tasks in processes: {st}")
        tasks_of(st.state_details.flow_run_id, 4)
        check(True, "and known as this flow run's, not as those of one before")

        st = talkative(return_state=True)
        of = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[st.state_details.flow_run_id]))
        def lines():
            found = []
            while len(page := c.read_logs(of, limit=200, offset=len(found), sort=LogSort.TIMESTAMP_ASC)): found += page
            return found if len(found) >= 5001 else None
        found = [l.message for l in wait_for(lines, "5,000 lines", every=1) if l.message.startswith("line ")]
        check(found == [f"line {i} ü\u2028\x01" for i in range(5000)], "5,000 lines, each once and in order")

        st = odd("ß 😀\u2028{{ x }}", a={"$k.x": [None, float(2**60)], "": "\x7f"}, return_state=True)
        run = c.read_flow_run(st.state_details.flow_run_id)
        check(st.is_completed() and run.name == "läuft-ß 😀\u2028{{ x }}" and run.parameters == {"x": "ß 😀\u2028{{ x }}", "more": {"a": {"$k.x": [None, 2.0**60], "": "\x7f"}}}, f"odd characters come back as they were sent: {run.parameters}")

        async def cancelled():
            @task
            async def nap(): await asyncio.sleep(60)
            @flow(name=f"scn-q-cancel-{UID}")
            async def sleepy():
                await asyncio.sleep(0.5)
                for _ in range(100): await asyncio.sleep(0.1); tick()
            @task
            def tick(): pass
            run = asyncio.ensure_future(sleepy(return_state=True))
            found = []
            while not (found and found[0].state.name == "Running"):
                await asyncio.sleep(0.1); found = await asyncio.to_thread(runs_of, f"scn-q-cancel-{UID}")
            r = await asyncio.to_thread(c.set_flow_run_state, found[0].id, Cancelling())
            r2 = await asyncio.to_thread(c.set_flow_run_state, found[0].id, Cancelled())
            run.cancel()
            try: await run
            except BaseException: pass
            return found[0].id, r.status.value, r2.status.value
        id, first, second = asyncio.run(cancelled())
        check((first, second) == ("ACCEPT", "ACCEPT") and states(id)[:4] == ["Pending", "Running", "Cancelling", "Cancelled"], f"cancelled from elsewhere: {states(id)}")

if __name__ == "__main__": run(main)
