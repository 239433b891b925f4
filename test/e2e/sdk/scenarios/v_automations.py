"""(v) automations of every kind by the SDK and the command line: reactive, threshold, for_each, compound, sequence, proactive; triggers of a deployment."""
from _lib import *
import json
from datetime import timedelta
from prefect import flow
from prefect.automations import Automation
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId
from prefect.events import emit_event
from prefect.events.actions import ChangeFlowRunState, DoNothing, PauseDeployment, RunDeployment
from prefect.events.filters import EventAnyResourceFilter, EventFilter, EventNameFilter
from prefect.events.schemas.automations import CompoundTrigger, EventTrigger, Posture, SequenceTrigger
from prefect.events.schemas.deployment_triggers import DeploymentEventTrigger

SRC = f'''
from prefect import flow
@flow(name="scn-v-{UID}")
def answered(a: str = "", n: int = 0): return n
'''

def name(kind): return f"scn.v.{UID}.{kind}"
def emit(kind, of="x", **payload): emit_event(event=name(kind), resource={"prefect.resource.id": f"scn.v.{UID}.{of}"}, payload=payload)
def event(*kinds, **more): return EventTrigger(expect={name(k) for k in kinds}, posture=more.pop("posture", Posture.Reactive), **more)

def main():
    src = os.path.join(HOME, "src"); os.makedirs(src)
    open(os.path.join(src, "fl.py"), "w").write(SRC)
    pool = f"auto-{UID}"
    cli("work-pool", "create", pool, "--type", "process")
    with get_client(sync_client=True) as c:
        def firings(a, want):
            def mine(): return EventFilter(event=EventNameFilter(name=["prefect.automation.triggered"]), # It ends at the time when it was made.
                any_resource=EventAnyResourceFilter(id=[f"prefect.automation.{a.id}"]))
            def read(): return c._client.post("/events/filter", json={"filter": mine().model_dump(mode="json"), "limit": 50}).json()["events"]
            if want: wait_for(lambda: len(read()) >= want, f"{want} firings of {a.name}")
            return read()
        f = flow.from_source(source=src, entrypoint="fl.py:answered")
        did = f.deploy(name="v", work_pool_name=pool, print_next_steps=False, ignore_warnings=True, triggers=[
            DeploymentEventTrigger(name=f"of the deployment {UID}", expect={name("deploy")}, parameters={"a": "{{ event.resource.id }}", "n": 3})])
        owned = c._client.get(f"/automations/related-to/prefect.deployment.{did}").json()
        check(len(owned) == 1 and owned[0]["name"] == f"of the deployment {UID}", "triggers= makes an automation of the deployment")
        def runs(): return c.read_flow_runs(flow_run_filter=FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=[did])))

        made = {kind: Automation(name=f"{kind} {UID}", trigger=trigger, actions=[DoNothing()]).create() for kind, trigger in {
            "reactive": event("one"),
            "threshold": event("three", threshold=3, within=timedelta(seconds=60)),
            "each": event("each", for_each={"prefect.resource.id"}, threshold=2, within=timedelta(seconds=60)),
            "compound": CompoundTrigger(triggers=[event("left"), event("right")], require="all", within=timedelta(seconds=60)),
            "any": CompoundTrigger(triggers=[event("left"), event("right")], require="any", within=timedelta(seconds=60)),
            "sequence": SequenceTrigger(triggers=[event("first"), event("second")], within=timedelta(seconds=60)),
            "proactive": EventTrigger(after={name("start")}, expect={name("end")}, for_each={"prefect.resource.id"}, posture=Posture.Proactive, within=timedelta(seconds=10)),
        }.items()}
        run = Automation(name=f"runs {UID}", trigger=event("go"), actions=[RunDeployment(deployment_id=did, parameters={"a": "{{ event.payload.a }}", "n": "{{ event.payload.n }}"})]).create()
        time.sleep(1.5) # The Python server's evaluation learns of automations by a notification.
        emit("start", "late"); emit("start", "intime")
        emit("one"); emit("one")
        for _ in range(2): emit("three")
        for n in range(3): emit("each", f"r{n % 2}")
        emit("left"); emit("second"); emit("go", a="b", n=7); emit("deploy", "source")
        time.sleep(1)
        emit("first"); emit("end", "intime")
        check(len(firings(made["reactive"], 2)) == 2, "reactive fires for each event")
        fired = firings(made["each"], 1)
        check(len(fired) == 1 and fired[0]["payload"]["triggering_labels"] == {"prefect.resource.id": f"scn.v.{UID}.r0"}, "for_each counts each value by itself")
        check(len(firings(made["threshold"], 0)) == 0 and len(firings(made["compound"], 0)) == 0 and len(firings(made["sequence"], 0)) == 0, "not yet")
        time.sleep(1)
        emit("three"); emit("right"); emit("second")
        check(len(firings(made["threshold"], 1)) == 1, "the third event reaches the threshold")
        check(len(firings(made["compound"], 1)) == 1, "both of a compound trigger")
        check(len(firings(made["any"], 2)) == 2, "any of a compound trigger")
        check(len(firings(made["sequence"], 1)) == 1, "a sequence in its order")
        wait_for(lambda: len(runs()) == 2, "two runs")
        check(sorted((r.parameters["a"], r.parameters["n"]) for r in runs()) == [("b", 7), (f"scn.v.{UID}.source", 3)], "run-deployment with templated parameters, types kept")
        check({r.created_by.type for r in runs()} == {"AUTOMATION"}, "created by an automation")
        late = firings(made["proactive"], 1)
        check(len(late) == 1 and late[0]["payload"]["triggering_labels"] == {"prefect.resource.id": f"scn.v.{UID}.late"}, "proactive fires for what did not end")
        acted = c._client.post("/events/filter", json={"filter": {"event": {"prefix": ["prefect.automation.action."]}, "any_resource": {"id": [f"prefect.automation.{run.id}"]},
            "occurred": {"since": "2020-01-01T00:00:00Z"}}, "limit": 50}).json()["events"]
        ran = [e for e in acted if e["event"] == "prefect.automation.action.executed"]
        check(len(ran) == 1 and any(r.get("prefect.resource.role") == "flow-run" for r in ran[0]["related"]), "the action's event names its run")

        one = made["reactive"]
        check(one.name in cli("automation", "ls"), "automation ls")
        check(json.loads(cli("automation", "inspect", one.name, "--json"))[0]["id"] == str(one.id), "automation inspect")
        cli("automation", "pause", one.name)
        check(not Automation.read(id=one.id).enabled, "automation pause")
        time.sleep(1.5); emit("one"); time.sleep(2)
        check(len(firings(one, 2)) == 2, "a paused automation does not fire")
        cli("automation", "resume", one.name)
        time.sleep(1.5); emit("one")
        check(len(firings(one, 3)) == 3, "a resumed one does")
        for a in made.values(): cli("automation", "delete", "--id", str(a.id))
        check(all(a.name not in cli("automation", "ls") for a in made.values()), "automation delete")
        run.delete()
        f.deploy(name="v", work_pool_name=pool, print_next_steps=False, ignore_warnings=True, triggers=[])
        again = c._client.get(f"/automations/related-to/prefect.deployment.{did}").json()
        check(all(a["name"] != f"of the deployment {UID}" for a in again) or len(again) == 1, f"deployed again {len(again)}")

if __name__ == "__main__": run(main)
