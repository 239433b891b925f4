"""Flows of many kinds run to their end, and everything that they leave behind: what their callers got, runs, states, task runs, events,
logs, artifacts, graphs.
"""
import os
os.environ.update(WALK_LOGGING_LEVEL="INFO", WALK_LOGS="true", PREFECT_LOGGING_TO_API_BATCH_INTERVAL="0.2")
from _walk import *
from _left import *
import asyncio, contextvars, logging, threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta, timezone
from pydantic import BaseModel as Model
from prefect import allow_failure, flow, get_run_logger, runtime, tags, task, unmapped
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, update_progress_artifact
from prefect.cache_policies import INPUTS, NO_CACHE, RUN_ID, TASK_SOURCE
from prefect.client.orchestration import get_client
from prefect.concurrency.sync import concurrency
from prefect.context import get_run_context
from prefect.events import emit_event
from prefect.flow_runs import pause_flow_run
from prefect.futures import as_completed, wait
from prefect.states import Cancelled, Cancelling, Completed, Crashed, Failed, Paused, Pending, Running, Scheduled
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.tasks import exponential_backoff
from prefect.transactions import IsolationLevel, transaction

def N(name): return f"{name}-{UID}"

def became(state):
    """what a caller gets of a run's last state"""
    if not hasattr(state, "type"): return state
    try: result = state.result(raise_on_failure=False)
    except Exception as e: result = e
    if inspect.isawaitable(result): result = loop().run_until_complete(result)
    return [state.type.value, state.name, re.sub(r"\b[a-z]+-[a-z]+\b(?=')", "<made up>", state.message or ""), type(result).__name__ if isinstance(result, BaseException) else result]

def story(about, do, result=True):
    def run():
        value = do()
        if inspect.isawaitable(value): value = loop().run_until_complete(value)
        return became(value)
    return step(about, run, wire=False, result=result)


@task
def add(a, b=1): return a + b
@task
async def aadd(a, b=1): return a + b
@task
def fails(message="as intended"): raise ValueError(message)


def nested():
    @flow(name=N("grandchild"), flow_run_name="grand-{n}")
    def grandchild(n): return add(n, 100)
    @flow(name=N("child"), flow_run_name=lambda: f"child-{runtime.flow_run.parameters['n']}")
    def child(n): return grandchild(n)
    @flow(name=N("nested"), version="3", description="ü")
    def nested(n: int = 1):
        with tags("outer", "ü"): direct = child(n)
        with ThreadPoolExecutor(2) as pool:
            threads = [pool.submit(contextvars.copy_context().run, child, n + i) for i in (1, 2)]
            return direct, [t.result() for t in threads]
    story("flows in flows, in threads", lambda: nested(1, return_state=True))
    left(N("nested"), 3); left(N("child"), 1); left(N("grandchild"), 1)

    @flow(name=N("agrandchild"), flow_run_name="agrand-{n}")
    async def agrandchild(n): return await aadd(n, 100)
    @flow(name=N("achild"), flow_run_name="achild-{n}")
    async def achild(n):
        if n == 3: raise KeyError(n)
        return await agrandchild(n)
    @flow(name=N("gathered"))
    async def gathered(): return [r if not isinstance(r, Exception) else type(r).__name__ for r in await asyncio.gather(*(achild(n) for n in range(4)), return_exceptions=True)]
    story("flows in flows, gathered", lambda: gathered(return_state=True))
    left(N("gathered"), 4); left(N("achild"), 1); left(N("agrandchild"), 1)


def mapped():
    @task(task_run_name="double {x}", tags=["leaf"])
    def double(x, factor, skip=None): return x * factor
    @task
    def maybe(x):
        if x == 2: raise ValueError("two")
        return x
    @task
    def total(values, other=None): return sum(v for v in values if isinstance(v, int))
    @flow(name=N("mapped"), task_runner=ThreadPoolTaskRunner(max_workers=4))
    def mapped():
        first = add.submit(1)
        doubled = double.map([1, 2, 3], factor=unmapped(10), wait_for=[first])
        tried = maybe.map(range(4))
        blocked = total.submit(tried)
        tolerated = total.submit([allow_failure(t) for t in tried], wait_for=[first])
        wait([blocked, tolerated])
        chained = double.map(doubled, factor=first)
        done = len(list(as_completed(chained)))
        return {"doubled": [f.result() for f in doubled], "blocked": blocked.state.name, "tolerated": tolerated.state.name, "done": done, "chained": [f.result() for f in chained]}
    story("mapped tasks that wait for others", lambda: mapped(return_state=True))
    left(N("mapped"), 13)
    @flow(name=N("mapped-wrong"))
    def wrong(): return add.map([1, 2], b=[1])
    story("a map over lists of two lengths", lambda: wrong(return_state=True))
    left(N("mapped-wrong"))


def retries():
    tried = {}
    def nth(key):
        tried[key] = tried.get(key, 0) + 1
        return tried[key]
    @task(retries=3, retry_delay_seconds=[0, 1, 0])
    def listed():
        if nth("listed") < 4: raise ValueError("again")
        return "at last"
    @task(retries=2, retry_delay_seconds=exponential_backoff(backoff_factor=1), retry_jitter_factor=0.5)
    def backed():
        if nth("backed") < 2: raise ValueError("again")
    @task(retries=2, retry_condition_fn=lambda task, run, state: "again" in state.message)
    def judged(message): nth(message); raise ValueError(message)
    @flow(name=N("retried"))
    def retried():
        listed(); backed()
        return [judged(m, return_state=True).name for m in ("again", "never")], tried["again"], tried["never"]
    story("tasks that are tried again", lambda: retried(return_state=True)); left(N("retried"), 4, ordered=True)
    @flow(name=N("retried-child"))
    def child():
        if nth("child") == 1: raise ValueError("first time")
        return "child"
    @flow(name=N("retried-flow"), retries=2, retry_delay_seconds=1)
    def whole():
        a = add(1); b = child()
        if nth("flow") == 1: raise ValueError("after the child")
        return [a, b, tried["flow"], get_run_context().flow_run.run_count]
    story("a flow that is tried again, with what it called", lambda: whole(return_state=True)); left(N("retried-flow"), 2); left(N("retried-child"))


def timeouts():
    @task(timeout_seconds=0.3)
    def slow(): time.sleep(5)
    @task(timeout_seconds=0.3, retries=1)
    async def aslow(): await asyncio.sleep(5)
    @flow(name=N("slow-tasks"))
    def tasks(): return slow(return_state=True).name
    @flow(name=N("aslow-tasks"))
    async def atasks(): return (await aslow(return_state=True)).name
    @flow(name=N("slow"), timeout_seconds=0.5, retries=1)
    def flow_(): time.sleep(5)
    @flow(name=N("aslow"), timeout_seconds=0.5)
    async def aflow(): await asyncio.sleep(5)
    for name, f in (("slow-tasks", tasks), ("aslow-tasks", atasks), ("slow", flow_), ("aslow", aflow)):
        story(f"{name} that take too long", lambda: f(return_state=True)); left(N(name), 1 if "tasks" in name else 0)


def caches():
    ran = []
    @task(cache_policy=INPUTS, persist_result=True)
    def by_inputs(x): ran.append(("inputs", x)); return x
    @task(cache_key_fn=lambda context, parameters: f"key-{UID}-{parameters['x']}", cache_expiration=timedelta(seconds=0.5), persist_result=True)
    def expires(x): ran.append(("expires", x)); return x
    @task(cache_policy=TASK_SOURCE + RUN_ID, persist_result=True)
    def by_run(): ran.append(("run",)); return 1
    @task(cache_policy=INPUTS - "ignored", persist_result=True, refresh_cache=False)
    def without(x, ignored): ran.append(("without", x)); return x
    @task(cache_policy=NO_CACHE)
    def never(x): ran.append(("never", x)); return x
    @flow(name=N("cached"))
    def cached(again):
        names = [by_inputs(1, return_state=True).name, by_inputs(1, return_state=True).name, by_inputs.with_options(refresh_cache=True)(1, return_state=True).name]
        names += [expires(1, return_state=True).name, expires(1, return_state=True).name]
        time.sleep(0.7)
        names += [expires(1, return_state=True).name, by_run(return_state=True).name, by_run(return_state=True).name]
        names += [without(1, 2, return_state=True).name, without(1, 3, return_state=True).name, never(1, return_state=True).name]
        return names
    for again in (False, True): story("cached tasks" + " in a second run" * again, lambda: cached(again, return_state=True))
    say("what ran of them", ran); left(N("cached"), 11, ordered=True)


def transactions():
    from prefect.locking.memory import MemoryLockManager
    from prefect.results import ResultStore
    told = []
    @task
    def write(n):
        if n == 3: raise ValueError("three")
        return n
    @write.on_rollback
    def undo(txn): told.append(f"undone {txn.get('n', None)}")
    @write.on_commit
    def keep(txn): told.append("kept")
    @flow(name=N("committed"))
    def committed():
        with transaction(key=N("outer")) as txn:
            txn.set("n", 1)
            write(1)
            with transaction(key=N("inner")): write(2)
    @flow(name=N("rolled-back"))
    def rolled_back():
        with transaction():
            write(1); write(2); write(3)
    @flow(name=N("serializable"))
    def serializable():
        store = ResultStore(lock_manager=MemoryLockManager())
        with transaction(key=N("locked"), store=store, isolation_level=IsolationLevel.SERIALIZABLE) as txn:
            held = store.is_locked(N("locked")) if hasattr(store, "is_locked") else None
            return write(1), held
    for name, f in (("committed", committed), ("rolled-back", rolled_back), ("serializable", serializable)):
        story(f"a transaction: {name}", lambda: f(return_state=True)); left(N(name), {"committed": 2, "rolled-back": 3}.get(name, 1), ordered=True)
    say("what transactions did", told)


def hooks():
    told = []
    def on(kind):
        def hook(thing, run, state): told.append([kind, thing.name.replace(f"-{UID}", ""), state.name, type(run).__name__])
        hook.__name__ = f"on_{kind}"
        return hook
    def broken(*_): raise RuntimeError("a hook that fails")
    kinds = {f"on_{k}": [on(k)] for k in ("completion", "failure", "cancellation", "crashed", "running")}
    of_tasks = {k: v for k, v in kinds.items() if k in ("on_completion", "on_failure")}
    @task(**of_tasks)
    def works(): return 1
    @task(retries=1, **of_tasks)
    def breaks(): raise ValueError("broken")
    @flow(name=N("hooked"), **kinds)
    def hooked(): works(); breaks()
    @flow(name=N("hooked-well"), **{**kinds, "on_completion": [broken, on("completion")]})
    def well(): return works()
    @flow(name=N("hooked-crash"), **kinds)
    def crashes(): raise SystemExit(3)
    @flow(name=N("hooked-cancel"), **kinds)
    def cancels(): return Cancelled(message="by itself")
    for name, f in (("hooked", hooked), ("hooked-well", well), ("hooked-crash", crashes), ("hooked-cancel", cancels)):
        story(f"a flow that is {name}", lambda: f(return_state=True)); left(N(name), 2 if name == "hooked" else int(name == "hooked-well"), ordered=True)
    say("what hooks were told", told)


def by_hand():
    @task
    def state(s): return s
    @flow(name=N("by-hand"))
    def one(kind): return {"failed": Failed(message="by hand"), "named": Completed(name="Skipped", message="ü"), "cancelled": Cancelled(), "crashed": Crashed(message="c"),
                           "list": [Completed(), Failed(message="one of two")], "task": state(Completed(name="Odd", data=7), return_state=True), "future": add.submit(1),
                           "futures": [add.submit(1), fails.submit()], "none": None, "running": Running(), "dict": {"a": 1}}[kind]
    for kind in ("failed", "named", "cancelled", "crashed", "list", "task", "future", "futures", "none", "running"):
        story(f"a flow that returns: {kind}", lambda: one(kind, return_state=True))
    left(N("by-hand"))
    @flow(name=N("task-states"))
    def tasks(): return [state(s, return_state=True).name for s in (Completed(name="Odd"), Failed(message="f"), Cancelled())]
    story("tasks that return states", lambda: tasks(return_state=True)); left(N("task-states"), 3)


def interfered():
    with get_client(sync_client=True) as client:
        def set_from_outside(*set, delete=False):
            rid = runtime.flow_run.id
            out = [[(r := client.set_flow_run_state(rid, s, force=force)).status.value, r.state and r.state.name] for s, force in set]
            if delete: client.delete_flow_run(rid)
            return out
        seen = {}
        @flow(name=N("interfered"), flow_run_name="{kind}", retries=1)
        def meddled(kind):
            if kind in seen: return "second time"
            seen[kind] = []
            seen[kind] = set_from_outside(*{"cancelling": [(Cancelling(), False)], "cancelled": [(Cancelled(), False)], "completed": [(Completed(message="early"), False)], "scheduled": [(Scheduled(), False)],
                                            "pending": [(Pending(), False)], "failed": [(Failed(message="from outside"), False)], "failed by force": [(Failed(message="from outside"), True)], "running": [(Running(), False)], "deleted": []}[kind], delete=kind == "deleted")
            if kind == "scheduled": raise ValueError("and fails")
            return add(1)
        for kind in ("cancelling", "cancelled", "completed", "scheduled", "pending", "failed", "failed by force", "running", "deleted"):
            story(f"a flow that is set {kind} while it runs", lambda: meddled(kind, return_state=True)); say(f"what became of that: {kind}", seen[kind])
        left(N("interfered"))


def limits():
    with get_client(sync_client=True) as client:
        client.create_concurrency_limit(N("two"), 2)
        live, most = [0], [0]; lock = threading.Lock()
        @task(tags=[N("two")])
        def narrow(n):
            with lock: live[0] += 1; most[0] = max(most[0], live[0])
            time.sleep(0.2)
            with lock: live[0] -= 1
            return n
        @flow(name=N("narrow"), task_runner=ThreadPoolTaskRunner(max_workers=6))
        def narrowed(): return sum(narrow.map(range(5)).result()), most[0] <= 2
        story("tasks through a narrow limit", lambda: narrowed(return_state=True)); left(N("narrow"), 5)
        say("the limit afterwards", client.read_concurrency_limit_by_tag(N("two")).active_slots)
        client.delete_concurrency_limit_by_tag(N("two"))
        story("and without it", lambda: narrowed.with_options(name=N("wide"))(return_state=True)); left(N("wide"), 5, logs=False)
        @flow(name=N("held"))
        def held():
            with concurrency(N("g"), occupy=1, timeout_seconds=10): return add(1)
        client.upsert_global_concurrency_limit_by_name(N("g"), 1)
        story("a flow that holds a slot", lambda: held(return_state=True)); left(N("held"), 1)


def logged():
    other = logging.getLogger("other.of.mine")
    @task(log_prints=True)
    def prints(): print("from a task", 1, 2); get_run_logger().warning("warned %s", "ü\u2028"); other.error("not ours")
    @flow(name=N("logged"), log_prints=True)
    def logged():
        print("a line"); print(""); print("two\nlines"); get_run_logger().debug("not kept")
        get_run_logger().info("x" * 100_000); get_run_logger().info("many %s", {"a": "\x00\x01"}); get_run_logger().critical("the last")
        try: 1 / 0
        except ZeroDivisionError: get_run_logger().exception("caught")
        prints()
        for n in range(2000): get_run_logger().info("line %d", n)
        get_run_logger().info("y" * 1_100_000)
    story("a flow that says a lot", lambda: logged(return_state=True)); left(N("logged"), 1, ordered=True)


def happenings():
    @task
    def inside():
        emit_event("story.inside", resource={"prefect.resource.id": N("story"), "prefect.resource.name": "ü"}, related=[{"prefect.resource.id": N("friend"), "prefect.resource.role": "friend", "more": "1"}], payload={"n": [None]})
        create_markdown_artifact("# ü", key=f"story-{UID}", description="in a task")
    @flow(name=N("happened"))
    def happened():
        inside()
        p = create_progress_artifact(0.0, description="p"); update_progress_artifact(p, 99.5)
        return runtime.flow_run.name is not None, runtime.flow_run.scheduled_start_time is not None, runtime.flow_run.parent_flow_run_id, runtime.flow_run.root_flow_run_id == runtime.flow_run.id, runtime.task_run.id, runtime.flow_run.run_count, runtime.deployment.id
    story("a flow that tells of itself", lambda: happened(return_state=True)); left(N("happened"), 1)


def parameters():
    class Order(Model):
        n: int; when: datetime; tags: set[str] = set()
    @flow(name=N("parameters"))
    def typed(order: Order, day: date, more: list[int] = [1], *rest, **others): return order.n + len(others)
    story("parameters of many types", lambda: typed({"n": "3", "when": "2026-01-01T00:00:00Z", "tags": ["a"]}, date(2026, 1, 1), x=float("inf"), y={"a": b"\x00"}, z=Order(n=1, when=datetime(2026, 1, 1)), return_state=True))
    story("parameters that are wrong", lambda: typed({"n": "x"}, "no", return_state=True))
    story("parameters that are missing", lambda: typed(return_state=True))
    left(N("parameters"))


def generators():
    @task
    def counts(n):
        for i in range(n): yield i
        if n == 3: raise ValueError("three")
    @flow(name=N("generator"))
    def yields():
        yield from counts(2)
        try: yield from counts(3)
        except ValueError: yield "failed"
    story("a flow that yields", lambda: list(yields())); left(N("generator"), 2)


def crashes():
    @task
    def exits(): raise SystemExit(2)
    @task
    def interrupts(): raise KeyboardInterrupt
    for name, t in (("exits", exits), ("interrupts", interrupts)):
        @flow(name=N(name))
        def crashing(): t()
        def run():
            try: return crashing(return_state=True)
            except BaseException as e: return type(e).__name__
        story(f"a task that {name}", run); left(N(name), 1)
    @flow(name=N("acancelled"))
    async def acancelled(): await asyncio.sleep(30)
    async def cancels():
        run = asyncio.ensure_future(acancelled(return_state=True))
        while not flow_runs(N("acancelled")) or flow_runs(N("acancelled"))[0]["state_name"] != "Running": await asyncio.sleep(0.1)
        run.cancel()
        try: return await run
        except BaseException as e: return type(e).__name__
    story("an async flow that is cancelled", cancels); left(N("acancelled"))


def paused():
    with get_client(sync_client=True) as client:
        @flow(name=N("paused"))
        def pauses(n):
            add(1)
            if n: pause_flow_run(timeout=n, poll_interval=1, key="once")
            return add(2)
        def resumes():
            while not (runs := flow_runs(N("paused"))) or runs[0]["state_name"] != "Paused": time.sleep(0.1)
            client.resume_flow_run(runs[0]["id"])
        t = threading.Thread(target=resumes); t.start()
        story("a flow that pauses", lambda: pauses(30, return_state=True)); t.join()
        story("a pause that nobody ends", lambda: pauses.with_options(name=N("expired"))(1, return_state=True))
        left(N("paused"), 2, ordered=True); left(N("expired"), 1, ordered=True)


def walk(c):
    chosen = os.environ.get("WALK_PARTS", "").split()
    for part in (nested, mapped, retries, timeouts, caches, transactions, hooks, by_hand, interfered, limits, logged, happenings, parameters, generators, crashes, paused):
        if chosen and part.__name__ not in chosen: continue
        try: part()
        except BaseException as e:
            traceback.print_exc()
            say(f"{part.__name__} ended early", type(e).__name__)


if __name__ == "__main__": main(walk)
