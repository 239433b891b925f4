"""(r) runs of a deployment without a pool: executed by the command line and by a serving process, cancelled while they run and before
they start, waited for."""
from _lib import *
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.deployments import run_deployment
from prefect.states import Cancelling

SRC = f'''
import os, time
from prefect import flow, task
def cancelled(flow, flow_run, state): open(os.path.join({HOME!r}, "hook"), "a").write(state.name + chr(10))
@task
def quick(n): return n + 1
@flow(name="scn-r-{UID}", on_cancellation=[cancelled], log_prints=True)
def deployed(seconds: float = 0, n: int = 1):
    r = quick(n); print("working on", n)
    for _ in range(int(seconds * 10)): time.sleep(0.1)
    return r
if __name__ == "__main__": deployed.serve(name="served", pause_on_shutdown=False)
'''

def main():
    os.environ.update(PREFECT_RUNNER_POLL_FREQUENCY="1"); os.chdir(HOME)
    path = os.path.join(HOME, "deployed.py"); open(path, "w").write(SRC)
    def hooks(): return open(os.path.join(HOME, "hook")).read().split() if os.path.exists(os.path.join(HOME, "hook")) else []
    with get_client(sync_client=True) as c:
        def states(id): return [s.name for s in sorted(c.read_flow_run_states(id), key=lambda s: s.timestamp)]
        def became(id, name): return wait_for(lambda: (r := c.read_flow_run(id)).state.name == name and r, name)
        did = flow.from_source(source=HOME, entrypoint="deployed.py:deployed").to_deployment("by-hand", tags=["r"], parameters={"n": 3}).apply()
        check(c.read_deployment_by_name(f"scn-r-{UID}/by-hand").entrypoint == "deployed.py:deployed", "a deployment without a pool")
        run = run_deployment(f"scn-r-{UID}/by-hand", timeout=0, tags=["x"], flow_run_name="first")
        check(run.state.is_scheduled() and set(run.tags) == {"r", "x"} and run.name == "first" and run.parameters == {"n": 3}, "a run waits for somebody to execute it")
        cli("flow-run", "execute", str(run.id))
        done = became(run.id, "Completed")
        check(states(run.id)[-2:] == ["Running", "Completed"] and done.run_count == 1 and done.deployment_id == did, f"the command line does: {states(run.id)}")

        waits = c.create_flow_run_from_deployment(did)
        cli("flow-run", "cancel", str(waits.id))
        check(states(waits.id) == ["Scheduled", "Cancelled"], f"cancelled before its start: {states(waits.id)}")
        run = run_deployment(did, timeout=0, parameters={"seconds": 3600})
        p = spawn([sys.executable, "-m", "prefect", "flow-run", "execute", str(run.id)])
        became(run.id, "Running")
        cli("flow-run", "cancel", str(run.id))
        became(run.id, "Cancelled"); p.wait()
        check(states(run.id)[-3:] == ["Running", "Cancelling", "Cancelled"], f"cancelled while it ran: {states(run.id)}")
        check(wait_for(hooks, "the hook") == ["Cancelling"], "its hook ran once")

        server = spawn([sys.executable, path])
        wait_for(lambda: c.read_deployment_by_name(f"scn-r-{UID}/served"), "the served deployment")
        runs = [run_deployment(f"scn-r-{UID}/served", timeout=0, parameters=p) for p in ({"n": 1}, {"seconds": 3600})]
        waited = run_deployment(f"scn-r-{UID}/served", timeout=LIMIT, poll_interval=0.5, parameters={"n": 9}, as_subflow=False)
        check(waited.state.is_completed(), f"waited for: {waited.state}")
        became(runs[0].id, "Completed"); became(runs[1].id, "Running")
        check(c.set_flow_run_state(runs[1].id, Cancelling()).status.value == "ACCEPT", "cancelled by the API")
        became(runs[1].id, "Cancelled")
        check(wait_for(lambda: len(hooks()) == 2, "the second hook"), "the serving process stopped it and ran the hook")
        os.killpg(server.pid, signal.SIGINT); server.wait()

if __name__ == "__main__": run(main)
