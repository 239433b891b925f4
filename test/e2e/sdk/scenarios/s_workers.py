"""(s) a flow that gets SIGTERM; background tasks of two workers one of which is killed, and waiting for what they return."""
from _lib import *
os.environ.update(PREFECT_LOCAL_STORAGE_PATH=os.path.join(HOME, "store"), PREFECT_RESULTS_LOCAL_STORAGE_PATH=os.path.join(HOME, "store"))
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowFilter, FlowFilterName

LONG = f'''
import os, time
from prefect import flow
def crashed(flow, flow_run, state): open(os.path.join({HOME!r}, "crash"), "a").write(state.name)
@flow(name="scn-s-{UID}", on_crashed=[crashed])
def long(): print("READY", flush=True); time.sleep(3600)
long()
'''
TASKS = f'''
import os, time
from prefect import task
from prefect.task_worker import serve
@task(name="scn-s-bg-{UID}", persist_result=True)
def bg(n, seconds=0):
    with open(os.path.join({HOME!r}, "ran"), "a") as f: f.write(f"{{n}} {{os.getpid()}}" + chr(10))
    time.sleep(seconds); return n * 2
if __name__ == "__main__": serve(bg, limit=1)
'''

def main():
    path = os.path.join(HOME, "long.py"); open(path, "w").write(LONG)
    with get_client(sync_client=True) as c:
        def runs(): return c.read_flow_runs(flow_filter=FlowFilter(name=FlowFilterName(any_=[f"scn-s-{UID}"])))
        p = spawn([sys.executable, path])
        wait_for(lambda: "READY" in child_log(p), "a flow in a process of its own")
        p.send_signal(signal.SIGTERM); code = p.wait()
        run = wait_for(lambda: (r := runs()[0]).state.is_crashed() and r, "Crashed")
        check(code != 0 and os.path.exists(os.path.join(HOME, "crash")), f"ended by SIGTERM, with its hook: {run.state.message}, exit code {code}")

        path = os.path.join(HOME, "bg.py"); open(path, "w").write(TASKS)
        sys.path.insert(0, HOME)
        from bg import bg
        workers = [spawn([sys.executable, path]) for _ in range(2)]
        futures = [bg.delay(n, seconds=0.2) for n in range(1, 5)]
        for f in futures: f.wait(timeout=LIMIT)
        check([f.result(timeout=LIMIT) for f in futures] == [2, 4, 6, 8], "four deferred tasks, waited for")
        def where(n): return [int(l.split()[1]) for l in open(os.path.join(HOME, "ran")).read().splitlines() if l.startswith(f"{n} ")]
        slow = bg.delay(100, seconds=3600)
        pid = wait_for(lambda: where(100), "the slow one")[0]
        wait_for(lambda: c.read_task_run(slow.task_run_id).state.is_running(), "it is known to run")
        os.killpg(next(w.pid for w in workers if w.pid == pid), signal.SIGKILL)
        more = [bg.delay(n) for n in range(5, 9)]
        for m in more: m.wait(timeout=LIMIT)
        check([m.state.name for m in more] == ["Completed"] * 4, "the other worker goes on")
        check(c.read_task_run(slow.task_run_id).state.name == "Running", "what the killed one ran is not given to another")
        check([len(where(n)) for n in [*range(1, 9), 100]] == [1] * 9, "each ran once")

if __name__ == "__main__": run(main)
