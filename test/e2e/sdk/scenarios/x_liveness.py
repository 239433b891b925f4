"""Hosts, workers and runners die while their runs are in each state. The server ends each run as the documentation says, within INTERVALS
heartbeats. OLD_PYTHON has an SDK whose runs send no heartbeats."""
import json, re, urllib.request
from _lib import *
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.states import Cancelling

INTERVAL, INTERVALS, SLACK = 30, 3, 15  # Seconds, but for the number of intervals.
TIMEOUT, PAUSE = 60, 240  # Of PENDING and CANCELLING, and of PAUSED, which begins before the host dies.
ENDED = os.path.join(HOME, "ended")
SRC = f"""
import os, time
from prefect import flow, task, pause_flow_run

if os.environ.get("HANG") and os.environ.get("PREFECT__FLOW_ENTRYPOINT", "").endswith(":pending"):
    time.sleep(3600)

@task
def waits(): time.sleep(3600)

@flow
def inner(): time.sleep(3600)

@flow
def running():
    waits.submit()
    inner()

@flow(retries=1, retry_delay_seconds=3600)
def retrying(): raise ValueError("once more")

@flow
def paused(): pause_flow_run(timeout={PAUSE})

@flow
def pending(): pass

@flow
def sleeping(): time.sleep(3600)

@flow
def surviving():
    while not os.path.exists({ENDED!r}): time.sleep(0.1)
"""
table = []

def call(method, path, body):
    request = urllib.request.Request(API + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)
    return json.loads(urllib.request.urlopen(request).read())

def main():
    src = os.path.join(HOME, "src"); os.makedirs(src)
    open(os.path.join(src, "fl.py"), "w").write(SRC)
    with get_client(sync_client=True) as c:
        def host(name, python=sys.executable, machine=False):
            """a worker with a pool of its own; killing a machine ends all its processes at once"""
            c.create_work_pool(WorkPoolCreate(name=name, type="process"))
            alone = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"] if machine else []
            return spawn([*alone, python, "-m", "prefect", "worker", "start", "--pool", name, "--type", "process"], HANG=1,
                         PREFECT_WORKER_QUERY_SECONDS=1, PREFECT_FLOWS_HEARTBEAT_FREQUENCY=INTERVAL)
        def start(name, pool):
            deployment = flow.from_source(source=src, entrypoint=f"fl.py:{name}").deploy(name=pool, work_pool_name=pool, print_next_steps=False, ignore_warnings=True)
            return deployment, c.create_flow_run_from_deployment(deployment).id
        def state(run): return c.read_flow_run(run).state
        def reach(run, name): wait_for(lambda: state(run).name == name or None, f"{name} instead of {state(run)}", every=0.5)
        def beats(run):
            found = call("POST", "/events/filter", {"filter": {"event": {"name": ["prefect.flow-run.heartbeat"]}, "resource": {"id": [f"prefect.flow-run.{run}"]}}})
            return found["total"]

        machine, worker, old = host("machine", machine=True), host("worker"), host("old", os.environ["OLD_PYTHON"], machine=True)
        runs = {name: start(name, "machine")[1] for name in ("running", "retrying", "paused", "pending", "sleeping")}
        victim, survivor = start("sleeping", "worker")[1], start("surviving", "worker")[1]
        deployment, silent = start("sleeping", "old")
        def rules(**whole): call("PUT", "/admin/run_timeouts", {"rules": [
            {"heartbeat_interval": f"PT{INTERVAL}S", "missed_heartbeats": INTERVALS, **whole}, {"deployment_id": str(deployment), "worker_heartbeats": True},
        ]})
        rules()
        for run, name in ((runs["running"], "Running"), (runs["retrying"], "AwaitingRetry"), (runs["paused"], "Paused"), (runs["sleeping"], "Running"),
                          (victim, "Running"), (survivor, "Running"), (silent, "Running")):
            reach(run, name)
        wait_for(lambda: state(runs["pending"]).type.value == "PENDING" or None, "PENDING")
        for run in (runs["running"], runs["retrying"]): wait_for(lambda: beats(run) or None, "a heartbeat")
        check(beats(silent) == 0, "runs of the old SDK send no heartbeats")
        child = next(r for r in c.read_flow_runs() if r.parent_task_run_id)

        c.set_flow_run_state(runs["sleeping"], Cancelling(), force=True)
        killed = time.time()
        machine.kill(); old.kill()
        os.kill(int(c.read_flow_run(victim).infrastructure_pid.split(":")[-1]), signal.SIGKILL)
        rules(pending_timeout=f"PT{TIMEOUT}S", on_pending_timeout="CRASH")
        wait_for(lambda: state(victim).is_final() or None, "the end of the victim")
        worker.kill(); worker.wait()
        open(ENDED, "w").close()

        limit = INTERVAL * INTERVALS + SLACK
        expected = [
            ("host", "RUNNING", runs["running"], "CRASHED", limit), ("host", "RUNNING, a subflow", child.id, "CRASHED", limit),
            ("host", "AwaitingRetry", runs["retrying"], "CRASHED", limit), ("host", "RUNNING, without heartbeats", silent, "CRASHED", limit),
            ("host", "PENDING", runs["pending"], "CRASHED", TIMEOUT + SLACK), ("host", "PAUSED", runs["paused"], "FAILED", PAUSE + SLACK),
            ("host", "CANCELLING", runs["sleeping"], "CANCELLED", TIMEOUT + SLACK), ("runner", "RUNNING", victim, "CRASHED", limit),
            ("worker", "RUNNING", survivor, "COMPLETED", TIMEOUT + limit),
        ]
        for dead, during, run, want, most in expected:
            ended = wait_for(lambda: (s := state(run)).is_final() and s, f"the end of a run in {during}, now {state(run)}", every=0.5)
            took = ended.timestamp.timestamp() - killed
            print(f"{dead:8}{during:30}{ended.type.value:10} after {took:5.1f} s  {(ended.message or '')[:150]}", flush=True)
            table.append((ended.type.value == want and took <= most, f"kill -9 of the {dead} in {during}: {want} within {most} s"))
        tasks = [t.state.type.value for t in c.read_task_runs() if str(t.flow_run_id) == str(runs["running"])]
        table.append((tasks and set(tasks) == {"CRASHED"}, f"its task runs are CRASHED: {tasks}"))
        for right, what in table: check(right, what)

if __name__ == "__main__": run(main)
