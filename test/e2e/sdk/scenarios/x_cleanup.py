"""RUNS runs stay in CANCELLING because their runner is dead. Workers remove what they left; one worker is killed among them."""
import signal
from _lib import *
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.states import Cancelling, Pending, Running

RUNS, ENGINE = int(os.environ["RUNS"]), os.environ["ENGINE"]
WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cleaning_worker.py")

def again(fn):
    """repeat a call until a server responds"""
    def attempt():
        try: return (fn(),)
        except Exception as e: print("  again:", repr(e)[:200], flush=True)
    return wait_for(attempt, "a server", every=1)[0]

def main():
    os.makedirs(ENGINE, exist_ok=True)
    pool = f"pool-{UID}"
    with get_client(sync_client=True) as c:
        c.create_work_pool(WorkPoolCreate(name=pool, type="cleaning"))
        flow_id = c.create_flow_from_name("stuck")
        deployment = c.create_deployment(flow_id=flow_id, name="d", work_pool_name=pool)
        def start(): return spawn([sys.executable, WORKER, pool], ENGINE=ENGINE, PREFECT_WORKER_QUERY_SECONDS=1, PREFECT_WORKER_HEARTBEAT_SECONDS=2)
        worker = start()
        runs = []
        for n in range(RUNS):
            run = c.create_flow_run_from_deployment(deployment, state=Pending())
            c.set_flow_run_state(run.id, Running(), force=True)
            pid = f"container-{n}"
            open(os.path.join(ENGINE, pid), "w").close()
            c.update_flow_run(run.id, infrastructure_pid=pid)
            c.set_flow_run_state(run.id, Cancelling(), force=True)
            runs.append(run.id)
        print("CANCELLING", flush=True)
        begun = time.time()
        wait_for(lambda: len(os.listdir(ENGINE)) < RUNS - RUNS // 5 or None, "some clean-ups", every=0.01)
        worker.send_signal(signal.SIGKILL); worker.wait()
        worker = start()
        wait_for(lambda: not os.listdir(ENGINE) or None, "all clean-ups", every=0.1)
        took = time.time() - begun
        removed = open(ENGINE + ".removed").read().split()
        check(len(removed) == len(set(removed)) == RUNS, f"{RUNS} were removed, none twice: {len(removed)}")
        def ended():
            found = c.read_flow_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=runs)), limit=RUNS)
            return found if len(found) == RUNS and all(r.state.is_final() for r in found) else None
        found = again(lambda: wait_for(ended, "all runs to end", every=1))
        check({r.state.name for r in found} == {"Cancelled"}, "all runs are cancelled")
        print(f"CLEANED {RUNS} in {took:.1f} s", flush=True)
        check(took < 60, f"within 60 s: {took:.1f} s")

if __name__ == "__main__": run(main)
