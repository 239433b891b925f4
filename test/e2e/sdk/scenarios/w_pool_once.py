"""(w) a process pool by the command line, and a worker that runs a deployment once; with every SDK since 3.0."""
from _lib import *
import asyncio, httpx
from prefect import flow
from prefect.deployments import run_deployment

http = httpx.Client(base_url=API, timeout=LIMIT)
POOL = f"pool-{UID}"
SRC = """
from prefect import flow
@flow(name="scn-w-%s")
def worked(x: int = 1):
    print("worked", x); return x
"""

def now(value): return asyncio.run(value) if asyncio.iscoroutine(value) else value

def main():
    src = os.path.join(HOME, "src"); os.makedirs(src)
    open(os.path.join(src, "fl.py"), "w").write(SRC % UID)
    cli("work-pool", "create", POOL, "--type", "process")
    check(POOL in cli("work-pool", "ls"), "a pool, listed")
    check("process" in cli("work-pool", "inspect", POOL), "and shown")
    f = now(flow.from_source(source=src, entrypoint="fl.py:worked"))
    now(f.deploy(name="once", work_pool_name=POOL, parameters={"x": 2}, print_next_steps=False, ignore_warnings=True))
    made = now(run_deployment(f"scn-w-{UID}/once", parameters={"x": 3}, timeout=0, as_subflow=False))
    check(made.state.is_scheduled(), "a run that waits for a worker")
    said = cli("worker", "start", "--pool", POOL, "--type", "process", "--run-once")
    got = wait_for(lambda: (r := http.get(f"/flow_runs/{made.id}").json())["state_type"] == "COMPLETED" and r, f"the run: {said[-800:]}")
    check(got["work_pool_name"] == POOL and got["run_count"] == 1, "the worker ran it")
    cli("work-pool", "pause", POOL); cli("work-pool", "resume", POOL)
    http.delete(f"/deployments/{made.deployment_id}").raise_for_status() # The SDK 3.0 cannot read one without a queue.
    cli("--no-prompt", "work-pool", "delete", POOL)
    check(http.get(f"/work_pools/{POOL}").status_code == 404, "the pool is deleted")

if __name__ == "__main__": run(main)
