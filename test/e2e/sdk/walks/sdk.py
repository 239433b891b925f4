"""What the SDK offers above its clients: variables, artifacts, blocks, limits, results, transactions, inputs, events, automations, runs
of deployments. What callers get is compared; where waiting is part of it, what goes over the wire is not.
"""
from _walk import *
import asyncio, threading
from datetime import datetime, timedelta, timezone
from typing import Optional
from pydantic import BaseModel as Model, SecretStr
from prefect import flow, task, runtime, tags, unmapped, get_run_logger
from prefect.artifacts import *
from prefect.artifacts import Artifact, acreate_link_artifact, update_progress_artifact
from prefect.automations import Automation
from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from prefect.cache_policies import INPUTS, NONE, TASK_SOURCE, RUN_ID
from prefect.client.schemas.objects import ConcurrencyLeaseHolder
from prefect.concurrency.sync import concurrency, rate_limit
from prefect.concurrency.asyncio import concurrency as aconcurrency, rate_limit as arate_limit
from prefect.deployments import run_deployment
from prefect.events import emit_event
from prefect.events.clients import get_events_client, get_events_subscriber
from prefect.events.filters import EventFilter, EventNameFilter, EventResourceFilter
from prefect.events.schemas.automations import EventTrigger
from prefect.events.actions import DoNothing
from prefect.filesystems import LocalFileSystem
from prefect.flow_runs import pause_flow_run, resume_flow_run, suspend_flow_run, wait_for_flow_run
from prefect.input import RunInput, send_input, receive_input
from prefect.results import ResultStore
from prefect.states import Cancelled, Completed, Failed, Paused, Running, get_state_exception
from prefect.transactions import transaction
from prefect.variables import Variable

NOW = datetime.now(timezone.utc)


def variables(c):
    n = f"sdk_{UID}"
    step("Variable.set", lambda: Variable.set(n, {"a": [1, "ü", None]})); step("Variable.set twice", lambda: Variable.set(n, 1)); step("Variable.set over it", lambda: Variable.set(n, [1.5, True], overwrite=True, tags=["t"])); step("Variable.get", lambda: Variable.get(n)); step("Variable.get of none", lambda: Variable.get("none", default="d")); step("Variable.aget", lambda: Variable.aget(n)); step("Variable.aset", lambda: Variable.aset(n, "x", overwrite=True)); step("Variable.unset", lambda: Variable.unset(n)); step("Variable.unset again", lambda: Variable.unset(n)); step("Variable.aunset", lambda: Variable.aunset(n))


def artifacts(c):
    @flow(name=f"artifacts-{UID}")
    def made():
        ids = [create_link_artifact("https://example.com/ü", "link", key=f"l-{UID}", description="d"), create_markdown_artifact("# ü\u2028😀", key=f"m-{UID}"), create_table_artifact({"a": [1, float("nan")], "b": ["x", None]}, key=f"t-{UID}"), create_table_artifact([{"a": 1}], key=f"t-{UID}"), create_table_artifact([[1, 2], [3]], key=f"tt-{UID}"), create_image_artifact("https://example.com/a.png", key=f"i-{UID}")]
        p = create_progress_artifact(0.0, key=f"p-{UID}"); update_progress_artifact(p, progress=55.5, description="half")
        return len(ids)
    step("artifacts of every kind", lambda: made(), wire=False)
    for key in ("l", "m", "t", "tt", "i", "p"): step(f"Artifact.get {key}", lambda: Artifact.get(f"{key}-{UID}"))
    step("Artifact.get of none", lambda: Artifact.get("none")); step("Artifact.get_or_create", lambda: Artifact.get_or_create(key=f"m-{UID}", data="other")); step("Artifact.aget", lambda: Artifact.aget(f"m-{UID}")); step("a bad key", lambda: create_markdown_artifact("x", key="Bad Key"))


class Inner(Block):
    _block_type_slug = f"inner-{UID}"
    _block_type_name = f"Inner {UID}"
    token: SecretStr
    more: dict = {}

class Outer(Block):
    _block_type_slug = f"outer-{UID}"
    _block_type_name = f"Outer {UID}"
    inner: Inner
    secrets: dict[str, SecretStr] = {}
    many: list[Inner] = []
    deep: Optional[dict] = None

def blocks(c):
    i, o = f"i-{UID}", f"o-{UID}"
    step("Block.save", lambda: Inner(token="t ü", more={"a": [1]}).save(i), wire=False); step("Block.load", lambda: Inner.load(i).token.get_secret_value()); step("Block.save of nested ones", lambda: Outer(inner=Inner.load(i), secrets={"k": "v"}, many=[Inner(token="a"), Inner(token="b")], deep={"x": {"y": [None, "ü"]}}).save(o), wire=False)
    def whole():
        b = Outer.load(o)
        return [b.inner.token.get_secret_value(), b.inner.more, {k: v.get_secret_value() for k, v in b.secrets.items()}, [m.token.get_secret_value() for m in b.many], b.deep]
    step("Block.load of nested ones", whole, wire=False); step("Block.load by slug and name", lambda: type(Block.load(f"outer-{UID}/{o}")).__name__, wire=False); step("Block.save over it", lambda: Inner(token="new").save(i, overwrite=True), wire=False); step("what refers to it", whole, wire=False); step("Block.save twice", lambda: Inner(token="x").save(i), wire=False); step("Block.load of none", lambda: Inner.load("none"), wire=False); step("Block.save of a bad name", lambda: Inner(token="x").save("Bad Name"), wire=False); step("Block.delete", lambda: Outer.delete(o), wire=False); step("Block.delete again", lambda: Outer.delete(o), wire=False); step("Secret", lambda: (Secret(value={"a": SecretStr("x").get_secret_value()}).save(f"s-{UID}"), Secret.load(f"s-{UID}").get())[1], wire=False); step("LocalFileSystem", lambda: (LocalFileSystem(basepath=HOME).save(f"fs-{UID}"), LocalFileSystem.load(f"fs-{UID}").write_path("x", b"1") and 1)[1], wire=False)
    class Changed(Block):
        _block_type_slug = f"inner-{UID}"
        _block_type_name = f"Inner {UID}"
        token: SecretStr
        added: int = 7
    step("a block whose class has changed", lambda: Changed.load(i, validate=False).added, wire=False)


def limits(c):
    g = f"g-{UID}"
    c.client.upsert_global_concurrency_limit_by_name(g, 1); c.client.upsert_global_concurrency_limit_by_name(g + "-r", 5, 5.0)
    def held(): 
        with concurrency(g, occupy=1, timeout_seconds=5): return c.client.read_global_concurrency_limit_by_name(g).active_slots
    step("concurrency", held, wire=False); step("after it", lambda: c.client.read_global_concurrency_limit_by_name(g).active_slots)
    def full():
        with concurrency(g, occupy=1):
            with concurrency(g, occupy=1, timeout_seconds=0.5): return "both"
    step("concurrency that is full", full, wire=False); step("concurrency of no limit", lambda: _in(concurrency("none", occupy=1)), wire=False); step("concurrency of no limit, strictly", lambda: _in(concurrency("none", occupy=1, strict=True)), wire=False); step("concurrency of more than the limit", lambda: _in(concurrency(g, occupy=9, timeout_seconds=1)), wire=False); step("rate_limit", lambda: rate_limit(g + "-r", occupy=2), wire=False); step("rate_limit without decay", lambda: rate_limit(g, timeout_seconds=1), wire=False)
    async def both():
        async with aconcurrency(g, timeout_seconds=5): await arate_limit(g + "-r")
        return "done"
    step("both, async", both, wire=False)

def _in(context):
    with context: return "in"


def runs(c):
    tried = []
    @task(persist_result=True, cache_policy=INPUTS)
    def cached(x): tried.append(x); return x * 2
    @task(retries=1, retry_delay_seconds=0)
    def flaky():
        if runtime.task_run.run_count == 1: raise ValueError("once")
        return runtime.task_run.run_count
    @task(timeout_seconds=0.2)
    def slow(): time.sleep(2)
    @flow(name=f"grand-{UID}")
    def grand(n): return [runtime.flow_run.parent_flow_run_id is not None, n]
    @flow(name=f"child-{UID}")
    def child(n): return grand(n)
    @flow(name=f"walk-{UID}", persist_result=True, result_storage=None, flow_run_name="named-{n}")
    def parent(n):
        with tags("in"): futures = cached.map([1, 2, 3])
        results = [f.result() for f in futures]
        return {"results": results, "again": cached(1), "flaky": flaky(), "slow": slow(return_state=True).name, "child": child(n), "name": runtime.flow_run.name, "tags": sorted(runtime.flow_run.tags), "flow": runtime.flow_run.flow_name, "parameters": runtime.flow_run.parameters}
    st = step("a flow", lambda: parent(7, return_state=True), wire=False, result=False)
    step("its result", lambda: st.result(), wire=False)
    rid = st.state_details.flow_run_id
    from prefect.client.schemas.filters import TaskRunFilter, TaskRunFilterFlowRunId
    def task_runs(): return c.client.read_task_runs(task_run_filter=TaskRunFilter(flow_run_id=TaskRunFilterFlowRunId(any_=[rid])))
    end = time.time() + 20
    while time.time() < end and not (len(ts := task_runs()) == 7 and all(t.state and t.state.is_final() for t in ts)): time.sleep(0.1)
    say("its task runs", sorted(([re.sub("-[0-9a-f]{3}$", "", t.name), t.state.name, t.run_count, t.flow_run_run_count, sorted(t.tags), t.task_inputs and sorted(t.task_inputs)] for t in ts), key=str))
    step("wait_for_flow_run", lambda: _name(wait_for_flow_run(rid, timeout=10)), wire=False); step("wait_for_flow_run of none", lambda: wait_for_flow_run(ABSENT, timeout=1), wire=False)
    @flow(name=f"fails-{UID}", retries=1)
    def fails(): raise KeyError("ü")
    st = step("a flow that fails", lambda: fails(return_state=True), wire=False, result=False)
    say("its failure", [st.name, st.message, type(get_state_exception(st)).__name__]); say("its states", [s.name for s in sorted(c.client.read_flow_run_states(st.state_details.flow_run_id), key=lambda s: s.timestamp)])
    @flow(name=f"typed-{UID}", timeout_seconds=0.5)
    def typed(x: int): time.sleep(5)
    step("wrong parameters", lambda: typed("no", return_state=True).name, wire=False); step("a flow that takes too long", lambda: typed(1, return_state=True).name, wire=False)
    undone = []
    @task
    def first(): return 1
    @first.on_rollback
    def back(txn): undone.append("first")
    @flow(name=f"txn-{UID}")
    def transacted():
        with transaction(key=f"txn-{UID}"):
            first(); raise RuntimeError("after")
    step("a transaction that is rolled back", lambda: transacted(return_state=True).name, wire=False); say("what was undone", undone)
    @flow(name=f"big-{UID}")
    def big(x): return len(x)
    step("parameters of 400 kB", lambda: big("x" * 400_000), wire=False); step("parameters of 600 kB", lambda: big("x" * 600_000), wire=False)

async def _name(run): return (await run).state.name


class Answer(RunInput):
    name: str = "nobody"
    n: int

def inputs(c):
    @flow(name=f"asks-{UID}")
    def asks(): return pause_flow_run(wait_for_input=Answer.with_initial_data(description="**tell**", name="x"), timeout=60, poll_interval=0.2).model_dump()
    @flow(name=f"suspends-{UID}")
    def suspends(): suspend_flow_run(timeout=60)
    @flow(name=f"expires-{UID}")
    def expires(): pause_flow_run(timeout=1, poll_interval=0.2)
    found = {}
    def ask(): found["state"] = asks(return_state=True)
    t = threading.Thread(target=ask); t.start()
    from prefect.client.schemas.filters import FlowFilter, FlowFilterName, FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType
    end, paused = time.time() + 30, []
    while not paused and time.time() < end:
        paused = c.client.read_flow_runs(flow_filter=FlowFilter(name=FlowFilterName(any_=[f"asks-{UID}"])), flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=["PAUSED"])))); time.sleep(0.1)
    rid = paused[0].id
    say("the paused state", paused[0].state)
    step("inputs that it waits for", lambda: sorted((i.key, len(i.value) > 10) for i in c.client.filter_flow_run_input(rid, "", 10, set())), wire=False)
    step("resume with wrong input", lambda: c.client.resume_flow_run(rid, run_input={"n": "no"}).status.value, wire=False); step("resume with unknown input", lambda: c.client.resume_flow_run(rid, run_input={"n": 1, "zzz": 1}).status.value, wire=False); step("resume without input", lambda: c.client.resume_flow_run(rid).status.value, wire=False); step("resume with input", lambda: c.client.resume_flow_run(rid, run_input={"n": 3}).status.value, wire=False)
    t.join(60); say("what it got", found["state"].result(raise_on_failure=False) if found["state"].is_completed() else found["state"].name)
    step("resume of what runs no more", lambda: resume_flow_run(rid), wire=False); step("suspended without a deployment", lambda: suspends(return_state=True).name, wire=False); step("a pause that ends", lambda: expires(return_state=True).name, wire=False)
    run = c.client.create_flow_run(asks, state=Running())
    step("send_input", lambda: send_input({"a": "ü"}, run.id, sender="me"), wire=False); step("send_input of a type", lambda: Answer(n=1).send_to(run.id), wire=False); step("receive_input", lambda: [i for i in receive_input(dict, flow_run_id=run.id, timeout=1, poll_interval=0.2)], wire=False); step("receive_input of a type", lambda: [i.n for i in Answer.receive(flow_run_id=run.id, timeout=1, poll_interval=0.2)], wire=False)


def events(c):
    def named(suffix): return EventFilter(event=EventNameFilter(name=[f"sdk.{UID}.{suffix}"]))
    first = step("emit_event", lambda: emit_event(f"sdk.{UID}.a", resource={"prefect.resource.id": f"sdk.{UID}", "ü": "ß"}, payload={"deep": [{"x": None}]}, related=[{"prefect.resource.id": "r", "prefect.resource.role": "x"}]), wire=False)
    step("emit_event that follows", lambda: emit_event(f"sdk.{UID}.b", resource={"prefect.resource.id": f"sdk.{UID}"}, follows=first, occurred=first.occurred + timedelta(microseconds=1)), wire=False); step("emit_event of the past", lambda: emit_event(f"sdk.{UID}.old", resource={"prefect.resource.id": f"sdk.{UID}"}, occurred=NOW - timedelta(days=40)), wire=False); step("emit_event of the future", lambda: emit_event(f"sdk.{UID}.new", resource={"prefect.resource.id": f"sdk.{UID}"}, occurred=NOW + timedelta(hours=2)), wire=False)
    def read(filter, n):
        end = time.time() + 20
        while (page := c.client.read_events(filter=filter, limit=10)).total < n and time.time() < end: time.sleep(0.2)
        return page
    for name in "ab": step(f"event {name}", lambda: read(named(name), 1), wire=False)
    from prefect.events.filters import EventOccurredFilter
    for name, since in (("old", NOW - timedelta(days=50)), ("new", NOW)):
        window = EventOccurredFilter(since=since, until=NOW + timedelta(days=1))
        step(f"event {name}", lambda: [e.event for e in read(EventFilter(occurred=window, event=named(name).event), 1).events], wire=False)
    async def seen():
        async with get_events_subscriber(filter=EventFilter(event=EventNameFilter(prefix=[f"sdk.{UID}.l"]), resource=EventResourceFilter(labels={"k": ["1", "3"]}))) as sub:
            async with get_events_client() as out:
                from prefect.events.schemas.events import Event, Resource
                for n in range(4): await out.emit(Event(event=f"sdk.{UID}.l{n}", resource=Resource({"prefect.resource.id": "x", "k": str(n)})))
            got = []
            async for e in sub:
                got.append(e.event)
                if len(got) == 2: return got
    step("a subscriber with a filter", lambda: asyncio.wait_for(seen(), 30), wire=False)


def automations(c):
    a = step("Automation.create", lambda: Automation(name=f"auto-{UID}", trigger=EventTrigger(expect={"x"}, match={"prefect.resource.id": "y"}, threshold=1, posture="Reactive"), actions=[DoNothing()], enabled=False).create())
    step("Automation.read", lambda: Automation.read(id=a.id)); step("Automation.read by name", lambda: Automation.read(name=f"auto-{UID}")); step("Automation.read of none", lambda: Automation.read(id=ABSENT)); step("Automation.read of no name", lambda: Automation.read(name="none"))
    a.description = "new"
    step("Automation.update", lambda: a.update()); step("Automation.enable", lambda: a.enable()); step("Automation.disable", lambda: a.disable()); step("Automation.delete", lambda: a.delete()); step("Automation.delete again", lambda: a.delete()); step("Automation.enable of none", lambda: a.enable())


def deployments(c):
    @flow(name=f"deployed-{UID}")
    def deployed(n: int = 1): pass
    did = step("Flow.to_deployment", lambda: deployed.to_deployment(f"d-{UID}", tags=["x"], cron="0 0 1 1 *", paused=True, parameters={"n": 2}, description="ü").apply(), wire=False)
    step("the deployment", lambda: c.client.read_deployment(did).model_dump(mode="json", exclude={"path", "entrypoint", "version", "version_id", "version_info", "status"}), wire=False)
    r = step("run_deployment", lambda: run_deployment(f"deployed-{UID}/d-{UID}", parameters={"n": 5}, timeout=0, tags=["t"], idempotency_key=UID, flow_run_name=f"r-{UID}"), wire=False); step("run_deployment again", lambda: run_deployment(did, timeout=0, idempotency_key=UID).id == r.id, wire=False); step("run_deployment with wrong parameters", lambda: run_deployment(did, parameters={"n": "no"}, timeout=0), wire=False); step("run_deployment of none", lambda: run_deployment("a/b", timeout=0), wire=False); step("run_deployment that waits", lambda: run_deployment(did, timeout=1, poll_interval=0.3).state.name, wire=False)
    @flow(name=f"runs-{UID}")
    def runs_one(): return run_deployment(did, timeout=0, as_subflow=True).parent_task_run_id is not None
    step("run_deployment in a flow", lambda: runs_one(), wire=False)


def walk(c):
    for part in (variables, artifacts, blocks, limits, runs, inputs, events, automations, deployments):
        try: part(c)
        except Exception as e:
            traceback.print_exc()
            say(f"{part.__name__} ended early", type(e).__name__)


if __name__ == "__main__": main(walk)
