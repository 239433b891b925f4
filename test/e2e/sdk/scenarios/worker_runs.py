"""A stock process worker executes RUNS runs of DEPLOYMENTS deployments, while servers die and come back."""
from _lib import *
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

RUNS, DEPLOYMENTS = int(os.environ["RUNS"]), int(os.environ["DEPLOYMENTS"])
SRC = """
from prefect import flow
@flow(name="worker-runs", retries=2, retry_delay_seconds=1)
def counted(n: int):
    return n
"""

def again(fn):
    """repeat a call until a server responds"""
    def attempt():
        try: return (fn(),)
        except Exception as e: print("  again:", repr(e)[:200], flush=True)
    return wait_for(attempt, "a server", every=1)[0]

def main():
    src = os.path.join(HOME, "src"); os.makedirs(src)
    open(os.path.join(src, "fl.py"), "w").write(SRC)
    pool = f"pool-{UID}"
    again(lambda: cli("work-pool", "create", pool, "--type", "process", "--overwrite"))
    f = flow.from_source(source=src, entrypoint="fl.py:counted")
    deployments = [
        again(lambda: f.deploy(name=f"dep-{i}", work_pool_name=pool, print_next_steps=False, ignore_warnings=True)) for i in range(DEPLOYMENTS)
    ]
    worker = spawn([sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type", "process", "--limit", "3"],
                   PREFECT_WORKER_QUERY_SECONDS=1, PREFECT_WORKER_HEARTBEAT_SECONDS=2)
    with get_client(sync_client=True) as c:
        runs = [
            again(lambda: c.create_flow_run_from_deployment(deployments[n % DEPLOYMENTS], parameters={"n": n}, idempotency_key=f"{UID}-{n}")).id
            for n in range(RUNS)
        ]
        print("CREATED", flush=True)
        def ended():
            found = c.read_flow_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=runs)), limit=RUNS)
            return found if len(found) == RUNS and all(r.state.is_final() for r in found) else None
        found = wait_for(ended, "all runs to end", every=1)
        check({r.state.name for r in found} == {"Completed"}, f"all {RUNS} runs completed: { {r.state.name for r in found} }")
        check(worker.poll() is None, "the worker still runs")

if __name__ == "__main__": run(main)
