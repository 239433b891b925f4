"""(t) what every SDK since 3.0 can do, with its public names alone; what the server knows of it is read by plain HTTP."""
from _lib import *
import asyncio, httpx, prefect
from prefect import flow, get_run_logger, pause_flow_run, resume_flow_run, tags, task, unmapped
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from prefect.cache_policies import INPUTS
from prefect.client.orchestration import get_client
from prefect.concurrency.sync import concurrency, rate_limit
from prefect.deployments import run_deployment
from prefect.events import emit_event
from prefect.states import Cancelled, Completed
from prefect.transactions import transaction
from prefect.variables import Variable
from pydantic import SecretStr

http = httpx.Client(base_url=API, timeout=LIMIT)
def api(method, path, body=None):
    r = http.request(method, path, json=body) if body is not None else http.request(method, path)
    r.raise_for_status()
    return r.json() if r.content else None
def runs_of(name): return api("POST", "/flow_runs/filter", {"flows": {"name": {"any_": [name]}}, "sort": "START_TIME_ASC"})
def states(kind, run): return [s["name"] for s in sorted(api("GET", f"/{kind}_run_states/?{kind}_run_id={run['id']}"), key=lambda s: s["timestamp"])]
def tasks_of(run, count):
    def found():
        r = api("POST", "/task_runs/filter", {"task_runs": {"flow_run_id": {"any_": [run["id"]]}}})
        return r if len(r) == count and all(t["end_time"] for t in r) else None
    return wait_for(found, f"{count} finished task runs")

tried = []
@task(retries=2, retry_delay_seconds=0)
def flaky():
    tried.append(1)
    if len(tried) == 1: raise ValueError("once")
    return "at last"
@task(cache_policy=INPUTS, persist_result=True)
def double(x, by): return x * by
@task(tags=[f"tag-{UID}"])
def tagged():
    with concurrency(f"slot-{UID}", occupy=1): get_run_logger().warning("holding %s", UID)
    rate_limit(f"rate-{UID}")
@task
def fails(): raise RuntimeError("as intended")
@flow(name=f"scn-t-child-{UID}")
def child(n): return double(n, 10)
@flow(name=f"scn-t-{UID}", flow_run_name="run-{n}", log_prints=True, retries=1)
def parent(n: int = 1):
    print("printed", UID)
    create_markdown_artifact("# hi", key=f"md-{UID}"); create_table_artifact([{"a": 1}], key=f"tb-{UID}"); create_link_artifact("https://example.com", key=f"li-{UID}")
    emit_event("scn.t", resource={"prefect.resource.id": f"scn.t.{UID}"}, payload={"n": n})
    mapped = [f.result() for f in double.map([1, 2, 1], by=unmapped(2))]
    return flaky.submit().result(), mapped, child(n), tagged(), fails(return_state=True).name
@flow(name=f"scn-t-async-{UID}")
async def gathered():
    @task
    async def nap(n): await asyncio.sleep(0.05); return n
    return sum(await asyncio.gather(*(nap(n) for n in range(5))))
@flow(name=f"scn-t-fails-{UID}")
def failing(): raise ValueError("ü")
@flow(name=f"scn-t-pauses-{UID}")
def pauses(): pause_flow_run(timeout=LIMIT, poll_interval=1)
@flow(name=f"scn-t-named-{UID}")
def named(): return Completed(name="Odd", message="by hand")
undone = []
@task
def first(): return 1
@first.on_rollback
def undo(txn): undone.append(1)
@flow(name=f"scn-t-undone-{UID}")
def rolled_back():
    with transaction(): first(); fails()
@flow(name=f"scn-t-deployed-{UID}")
def deployed(n: int = 1): return n

class Thing(Block):
    _block_type_slug = f"scn-t-thing-{UID}"
    _block_type_name = f"Thing {UID}"
    token: SecretStr
    more: dict = {}

def main():
    for name, decay in ((f"slot-{UID}", 0), (f"rate-{UID}", 5)): api("POST", "/v2/concurrency_limits/", {"name": name, "limit": 1, "slot_decay_per_second": decay})
    api("POST", "/concurrency_limits/", {"tag": f"tag-{UID}", "concurrency_limit": 1})
    with tags("t1"): st = parent(5, return_state=True)
    check(st.is_completed(), f"a flow with all sorts of tasks: {st}")
    run = runs_of(f"scn-t-{UID}")[0]
    check(run["name"] == "run-5" and run["tags"] == ["t1"] and run["parameters"] == {"n": 5} and states("flow", run) == ["Pending", "Running", "Completed"], f"the run: {states('flow', run)}")
    ts = {t["name"].split("-")[0]: t for t in tasks_of(run, 7)}
    check(ts["flaky"]["run_count"] == 2 and states("task", ts["flaky"]) in (["Pending", "Running", "AwaitingRetry", "Retrying", "Completed"], ["Pending", "Running", "Retrying", "Completed"]), f"tried twice: {states('task', ts['flaky'])}")
    check(ts["fails"]["state_name"] == "Failed" and ts["tagged"]["state_name"] == "Completed", "one failed, one held a slot")
    kid = runs_of(f"scn-t-child-{UID}")[0]
    check(kid["parent_task_run_id"] in {t["id"] for t in ts.values()} and states("flow", kid)[-1] == "Completed", "the flow within")
    check(api("GET", f"/v2/concurrency_limits/slot-{UID}")["active_slots"] == 0 and api("GET", f"/concurrency_limits/tag/tag-{UID}")["active_slots"] == [], "slots are back")
    check(sorted(a["key"][:2] for a in api("POST", "/artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run["id"]]}}}) if a["key"]) == ["li", "md", "tb"], "artifacts")
    check(wait_for(lambda: (l := api("POST", "/logs/filter", {"logs": {"flow_run_id": {"any_": [run["id"]]}}})) and {f"printed {UID}", f"holding {UID}"} <= {x["message"] for x in l}, "logs"), "what was printed and logged")
    def events(**filter): return [e["event"] for e in api("POST", "/events/filter", {"filter": {**filter, "order": "ASC"}})["events"]]
    check(wait_for(lambda: events(resource={"id": [f"scn.t.{UID}"]}), "the event") == ["scn.t"], "an event of its own")
    of_run = wait_for(lambda: (e := events(resource={"id": [f"prefect.flow-run.{run['id']}"]})) and "prefect.flow-run.Completed" in e and e, "the run's events")
    check([e for e in of_run if "heartbeat" not in e] == [f"prefect.flow-run.{s}" for s in ("Pending", "Running", "Completed")], f"the run's events {of_run}")
    check(len(api("GET", f"/flow_runs/{run['id']}/graph-v2")["nodes"]) == 7, "the graph")

    check(asyncio.run(gathered()) == 10 and len(tasks_of(runs_of(f"scn-t-async-{UID}")[0], 5)) == 5, "an async flow")
    check(failing(return_state=True).is_failed() and "ü" in runs_of(f"scn-t-fails-{UID}")[0]["state"]["message"], "a flow that fails")
    check(named(return_state=True).name == "Odd" and runs_of(f"scn-t-named-{UID}")[0]["state_name"] == "Odd", "a state made by hand")
    check(rolled_back(return_state=True).is_failed() and undone == [1], "a transaction rolled back")
    def resume():
        paused = wait_for(lambda: (r := runs_of(f"scn-t-pauses-{UID}")) and r[0]["state_name"] == "Paused" and r, "the pause")
        api("POST", f"/flow_runs/{paused[0]['id']}/resume", {})
    t = threading.Thread(target=resume); t.start()
    check(pauses(return_state=True).is_completed() and states("flow", runs_of(f"scn-t-pauses-{UID}")[0]) == ["Pending", "Running", "Paused", "Running", "Completed"], "paused and resumed"); t.join()

    Variable.set(f"v_{UID}", {"a": [1, None]}); Variable.set(f"v_{UID}", "new", overwrite=True)
    check(Variable.get(f"v_{UID}") == "new", "a variable")
    Secret(value="s").save(f"s-{UID}"); Thing(token="t", more={"a": [1]}).save(f"t-{UID}"); Thing(token="t2").save(f"t-{UID}", overwrite=True)
    check(Secret.load(f"s-{UID}").get() == "s" and Thing.load(f"t-{UID}").token.get_secret_value() == "t2", "blocks")

    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    # The schedules of 3.0 have fields that no later server takes, and it cannot read a deployment that has no queue.
    if prefect.__version__.startswith("3.0."): return
    made = deployed.to_deployment("d", tags=["x"], cron="0 0 1 1 *", parameters={"n": 2}, description="ü")
    did = asyncio.run(made) if asyncio.iscoroutine(made) else made
    did = did.apply(); did = asyncio.run(did) if asyncio.iscoroutine(did) else did
    d = api("GET", f"/deployments/{did}")
    check(d["tags"] == ["x"] and d["parameters"] == {"n": 2} and d["schedules"][0]["schedule"]["cron"] == "0 0 1 1 *", "a deployment with a schedule")
    r = run_deployment(f"scn-t-deployed-{UID}/d", parameters={"n": 3}, timeout=0, idempotency_key=UID)
    again = run_deployment(f"scn-t-deployed-{UID}/d", parameters={"n": 4}, timeout=0, idempotency_key=UID)
    check(r.id == again.id and r.state.is_scheduled() and r.parameters == {"n": 3}, "a run of it, once")
    with get_client(sync_client=True) as c: check(c.set_flow_run_state(r.id, Cancelled(), force=True).status.value == "ACCEPT", "and cancelled")

if __name__ == "__main__": run(main)
