"""Every command of the SDK's command line that reads or writes what the server keeps, in one process: what it prints and with which
code it ends. Tables are compared as they stand, without what belongs to one run.
"""
from _walk import *
from _walk import _API
import re, io, textwrap
from datetime import timedelta
os.environ["COLUMNS"] = "500"
from prefect.testing.cli import CycloptsCliRunner
from prefect import flow, task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.states import Running, Completed, Failed, Scheduled
from prefect.client.schemas.schedules import CronSchedule
from prefect.client.schemas.actions import DeploymentScheduleCreate, LogCreate
import datetime as dt

_runner = CycloptsCliRunner()


def cli(*args, about="", input=None, in_any_order=False):
    """runs a command and writes what it printed"""
    def run():
        r = _runner.invoke([str(a) for a in args], input=input)
        out = re.sub(r"\x1b\[[0-9;]*m", "", r.stdout)
        if "--output" in args or "-o" in args:
            try: return {"code": r.exit_code, "json": json.loads(re.sub(r"__prefect_loader_[0-9a-f]+__", "<loader>", out)), "stderr": lines(r.stderr)}
            except ValueError: pass
        return {"code": r.exit_code, "printed in any order" if in_any_order else "printed": lines(out), "stderr": lines(r.stderr)}
    return step("prefect " + " ".join(text(str(a)) for a in args) + (f" ({about})" if about else ""), run, wire=False)


def lines(printed):
    """what was printed, without the drawing of tables, whose widths follow from what is in them"""
    kept = [" ".join(re.sub(r"[│┃━─┏┓┗┛┡┩├┤┬┴┼└┘┌┐╇╭╮╰╯┳╵╷╺╸]+", " ", l).split()) for l in printed.splitlines()]
    kept = [re.sub(r"\b(an?|a few|\d+) (second|minute|hour)s? (ago|from now)\b|\bjust now\b|\bnow\b|in (a few|an?|\d+) (second|minute|hour)s?", "<ago>", l) for l in kept if l]
    kept = [re.sub(r"__prefect_loader_[0-9a-f]+__", "<loader>", l) for l in kept]
    kept = [re.sub(r"(cli-[0-9a-f]{8}) [a-z]+-[a-z]+ ([A-Z]+)", r"\1 <made up> \2", l) for l in kept]
    kept = [re.sub(r"^(Created flow run) '[a-z]+-[a-z]+'", r"\1 <made up>", l) for l in kept]
    return kept


@task(name=f"leaf-{UID}")
def leaf(): pass


@flow(name=f"cli-{UID}", log_prints=True)
def walked(n: int = 1):
    leaf()
    return n


def walk(c):
    client = c.client
    for args in (("flow", "ls"), ("flow-run", "ls"), ("task-run", "ls"), ("deployment", "ls"), ("variable", "ls"), ("artifact", "ls"), ("block", "ls"), ("concurrency-limit", "ls"), ("global-concurrency-limit", "ls"), ("automation", "ls"), ("work-pool", "ls"), ("work-queue", "ls"), ("profile", "ls"), ("config", "view")):
        cli(*args, about="when there is nothing", in_any_order=True)
        if args[0] not in ("automation",): cli(*args, "-o", "json", about="when there is nothing")
    state = walked(return_state=True)
    run = client.read_flow_run(state.state_details.flow_run_id)
    client.set_flow_run_name(run.id, f"run-{UID}")
    fid = run.flow_id
    failed = client.create_flow_run(walked, name=f"failed-{UID}", state=Failed(message="with a reason"))
    planned = client.create_flow_run(walked, name=f"planned-{UID}", state=Scheduled(scheduled_time=dt.datetime(2030, 1, 1, tzinfo=dt.timezone.utc)))
    running = client.create_flow_run(walked, name=f"running-{UID}", state=Running())
    client.create_logs([LogCreate(name="x", level=10 * (1 + i % 5), message=f"line {i} of the log", timestamp=dt.datetime(2026, 1, 1, 0, 0, i, tzinfo=dt.timezone.utc), flow_run_id=failed.id) for i in range(30)])
    from prefect.client.schemas.filters import TaskRunFilter, TaskRunFilterFlowRunId
    find = lambda: client.read_task_runs(task_run_filter=TaskRunFilter(flow_run_id=TaskRunFilterFlowRunId(any_=[run.id])))
    end = time.time() + 20
    while not (found := [t for t in find() if t.state and t.state.is_final()]) and time.time() < end: time.sleep(0.1)
    leaf_run = found[0].id
    client.set_task_run_name(leaf_run, f"leaf-run-{UID}")

    cli("flow", "ls"); cli("flow", "ls", "--limit", "0"); cli("flow", "ls", "-o", "yaml")
    cli("flow-run", "ls", in_any_order=True); cli("flow-run", "ls", "--flow-name", f"cli-{UID}", "--state", "Failed"); cli("flow-run", "ls", "--state-type", "SCHEDULED"); cli("flow-run", "ls", "--state-type", "nonsense"); cli("flow-run", "ls", "--state", "nonsense"); cli("flow-run", "ls", "--flow-name", "none", "-o", "json"); cli("flow-run", "ls", "--state-type", "FAILED", "-o", "json")
    for r in (run.id, failed.id): cli("flow-run", "inspect", r, "-o", "json")
    cli("flow-run", "inspect", failed.id); cli("flow-run", "inspect", ABSENT); cli("flow-run", "inspect", "nonsense"); cli("flow-run", "logs", failed.id); cli("flow-run", "logs", failed.id, "--head", "--num-logs", "3"); cli("flow-run", "logs", failed.id, "--tail", "--num-logs", "3"); cli("flow-run", "logs", failed.id, "--reverse", "--num-logs", "2"); cli("flow-run", "logs", ABSENT); cli("flow-run", "logs", failed.id, "-o", "json", "--num-logs", "1"); cli("flow-run", "logs", planned.id)
    cli("flow-run", "cancel", planned.id); cli("flow-run", "cancel", planned.id, about="again"); cli("flow-run", "cancel", running.id); cli("flow-run", "cancel", failed.id); cli("flow-run", "cancel", ABSENT); cli("flow-run", "watch", failed.id); cli("flow-run", "watch", ABSENT); cli("flow-run", "retry", ABSENT); cli("flow-run", "retry", running.id); cli("flow-run", "delete", planned.id); cli("flow-run", "delete", planned.id, about="again")
    cli("task-run", "ls"); cli("task-run", "ls", "--task-run-name", f"leaf-run-{UID}", "-o", "json"); cli("task-run", "ls", "--state-type", "FAILED"); cli("task-run", "inspect", leaf_run); cli("task-run", "inspect", leaf_run, "-o", "json"); cli("task-run", "inspect", ABSENT); cli("task-run", "logs", leaf_run); cli("task-run", "logs", ABSENT)

    did = client.create_deployment(fid, f"d-{UID}", parameters={"n": 2}, tags=["x"], description="ü", parameter_openapi_schema={"type": "object", "properties": {"n": {"type": "integer"}}}, entrypoint="a.py:b", path="/p", enforce_parameter_schema=True, concurrency_limit=2)
    name = f"cli-{UID}/d-{UID}"
    cli("deployment", "ls"); cli("deployment", "ls", "--flow-name", "none"); cli("deployment", "ls", "--flow-name", f"cli-{UID}", "--by-created", "-o", "json"); cli("deployment", "inspect", name); cli("deployment", "inspect", name, "-o", "json"); cli("deployment", "inspect", "a/b"); cli("deployment", "inspect", "nonsense")
    cli("deployment", "schedule", "ls", name, about="without any"); cli("deployment", "schedule", "create", name, "--cron", "0 5 1 1 *", "--timezone", "Europe/Berlin", "--no-active"); cli("deployment", "schedule", "create", name, "--interval", "3600", "--anchor-date", "2030-01-01T00:00:00", "--no-active"); cli("deployment", "schedule", "create", name, "--rrule", "FREQ=DAILY;COUNT=2", "--no-active"); cli("deployment", "schedule", "create", name, "--cron", "nonsense"); cli("deployment", "schedule", "create", name); cli("deployment", "schedule", "create", "a/b", "--cron", "0 5 1 1 *"); cli("deployment", "schedule", "ls", name); cli("deployment", "schedule", "ls", name, "-o", "json")
    ids = {type(x.schedule).__name__: x.id for x in client.read_deployment(did).schedules}
    cli("deployment", "schedule", "resume", name, ids["CronSchedule"]); cli("deployment", "schedule", "resume", name, ids["CronSchedule"], about="again"); cli("deployment", "schedule", "pause", name, ids["CronSchedule"]); cli("deployment", "schedule", "pause", name, ABSENT); cli("deployment", "schedule", "pause", name, "--all"); cli("deployment", "schedule", "resume", "--all"); cli("deployment", "schedule", "pause", "--all"); cli("deployment", "schedule", "delete", name, ids["IntervalSchedule"], "-y"); cli("deployment", "schedule", "delete", name, ABSENT, "-y"); cli("deployment", "schedule", "create", name, "--cron", "0 6 1 1 *", "--replace", "-y", "--no-active"); cli("deployment", "schedule", "ls", name, about="replaced"); cli("deployment", "schedule", "clear", name, "-y"); cli("deployment", "schedule", "clear", name, "-y", about="again")
    cli("deployment", "run", name, "-p", "n=3", "--tag", "t", "--flow-run-name", f"of-{UID}", "--start-at", "2030-01-01T00:00:00"); cli("deployment", "run", name, "-p", "n=no", about="with wrong parameters"); cli("deployment", "run", name, "-p", "zzz=1", about="with an unknown parameter"); cli("deployment", "run", "--id", did, "--params", '{"n": 5}', "--start-in", "2 hours"); cli("deployment", "run", "--id", ABSENT); cli("deployment", "run", "a/b"); cli("deployment", "run", name, "--params", "{", about="with broken parameters"); cli("flow-run", "ls", "--state-type", "SCHEDULED", about="of a deployment", in_any_order=True)
    cli("deployment", "delete", "a/b"); cli("deployment", "delete", name); cli("deployment", "delete", "--id", did, about="again"); cli("deployment", "ls", about="after its end")

    v = f"v_{UID}"
    cli("variable", "set", v, "plain", "--tag", "a", "--tag", "b"); cli("variable", "set", v, "again"); cli("variable", "set", v, '{"a": [1, null]}', "--overwrite"); cli("variable", "get", v); cli("variable", "inspect", v); cli("variable", "inspect", v, "-o", "json"); cli("variable", "ls"); cli("variable", "ls", "-o", "json"); cli("variable", "set", "Bad Name", "x"); cli("variable", "get", "none"); cli("variable", "inspect", "none"); cli("variable", "unset", v); cli("variable", "unset", v, about="again")
    create_markdown_artifact("# ü", key=f"m-{UID}", description="d"); create_table_artifact([{"a": 1}], key=f"t-{UID}"); create_markdown_artifact("# 2", key=f"m-{UID}")
    cli("artifact", "ls", in_any_order=True); cli("artifact", "ls", "--all", in_any_order=True); cli("artifact", "inspect", f"m-{UID}"); cli("artifact", "inspect", f"m-{UID}", "--limit", "1", "-o", "json"); cli("artifact", "inspect", "none"); cli("artifact", "delete", "none"); cli("artifact", "delete", "--id", ABSENT); cli("artifact", "delete"); cli("artifact", "delete", f"t-{UID}", input="y\n"); cli("artifact", "ls", about="after one is deleted")
    t = f"tag-{UID}"
    cli("concurrency-limit", "create", t, 2); cli("concurrency-limit", "inspect", t); cli("concurrency-limit", "inspect", t, "-o", "json"); cli("concurrency-limit", "inspect", "none"); cli("concurrency-limit", "ls"); cli("concurrency-limit", "ls", "-o", "json"); cli("concurrency-limit", "reset", t); cli("concurrency-limit", "reset", "none"); cli("concurrency-limit", "delete", t); cli("concurrency-limit", "delete", t, about="again"); cli("concurrency-limit", "create", t, "x")
    g = f"g-{UID}"
    cli("gcl", "create", g, "--limit", 5, "--slot-decay-per-second", 0.5); cli("gcl", "create", g, "--limit", 5, about="again"); cli("gcl", "create", g + "-2", "--limit", 1, "--disable"); cli("gcl", "inspect", g); cli("gcl", "inspect", g, "-o", "json"); cli("gcl", "inspect", "none"); cli("gcl", "ls", in_any_order=True); cli("gcl", "disable", g); cli("gcl", "disable", g, about="again"); cli("gcl", "enable", g); cli("gcl", "update", g, "--limit", 9, "--active-slots", 2); cli("gcl", "update", "none", "--limit", 1); cli("gcl", "update", g); cli("gcl", "inspect", g, "-o", "json", about="updated"); cli("gcl", "delete", g, input="y\n"); cli("gcl", "delete", "none", input="y\n")
    blocks(c, client)
    events()
    automations(client)
    for args in (("version",), ("profile", "inspect"), ("config", "validate"), ("api", "GET", "/health"), ("api", "GET", f"/flow_runs/{failed.id}"), ("api", "POST", "/flows/filter", "--data", json.dumps({"flows": {"name": {"any_": [f"cli-{UID}"]}}})), ("api", "GET", "/none"), ("api", "POST", "/flows/", "--data", "{"), ("api", "DELETE", f"/flow_runs/{failed.id}"), ("task", "serve"), ("task", "serve", "none.py:x"), ("flow-run", "execute", ABSENT), ("dashboard", "open")):
        if args[0] not in ("dashboard",): cli(*args)
    cli("flow-run", "inspect", failed.id, about="deleted")


def blocks(c, client):
    path = os.path.join(HOME, "mine.py")
    with open(path, "w") as out: out.write(textwrap.dedent(f'''
        from prefect.blocks.core import Block
        from pydantic import SecretStr
        class Mine(Block):
            _block_type_name = "Mine {UID}"
            _block_type_slug = "mine-{UID}"
            _description = "of the walk"
            token: SecretStr
            n: int = 3
        '''))
    cli("block", "register", "--file", path, in_any_order=True); cli("block", "register", "--file", path, about="again", in_any_order=True); cli("block", "register", "--file", "none.py"); cli("block", "type", "inspect", f"mine-{UID}"); cli("block", "type", "inspect", f"mine-{UID}", "-o", "json"); cli("block", "type", "inspect", "none"); cli("block", "create", f"mine-{UID}"); cli("block", "create", "none")
    from prefect.blocks.system import Secret
    Secret(value="hush").save(f"s-{UID}")
    cli("block", "ls"); cli("block", "ls", "-o", "json"); cli("block", "inspect", f"secret/s-{UID}"); cli("block", "inspect", f"secret/s-{UID}", "-o", "json"); cli("block", "inspect", "secret/none"); cli("block", "inspect", "nonsense"); cli("block", "inspect", "--id", ABSENT); cli("block", "delete", f"secret/s-{UID}", input="y\n"); cli("block", "delete", "secret/none", input="y\n"); cli("block", "type", "delete", f"mine-{UID}", input="y\n"); cli("block", "type", "delete", "secret", input="y\n"); cli("block", "type", "delete", "none", input="y\n")


def events():
    cli("events", "emit", f"cli.{UID}.x", "--resource-id", f"cli.{UID}", "--payload", '{"a": 1}', "--related", "prefect.resource.id=r,prefect.resource.role=x"); cli("events", "emit", f"cli.{UID}.x"); cli("events", "emit", f"cli.{UID}.x", "--resource", '{"prefect.resource.id": "y", "k": "v"}'); cli("events", "emit", f"cli.{UID}.x", "--resource-id", "y", "--payload", "{"); cli("events", "emit", f"cli.{UID}.x", "--resource", "{")


def automations(client):
    path = os.path.join(HOME, "auto.yaml")
    with open(path, "w") as out: out.write(textwrap.dedent(f'''
        automations:
          - name: auto-1-{UID}
            description: of the walk
            enabled: false
            trigger: {{type: event, posture: Reactive, expect: [x], threshold: 1, within: 10}}
            actions: [{{type: do-nothing}}]
          - name: auto-2-{UID}
            enabled: false
            trigger: {{type: event, posture: Proactive, expect: [x], threshold: 1, within: 30}}
            actions: [{{type: cancel-flow-run}}]
        '''))
    n = f"auto-1-{UID}"
    cli("automation", "create", "--from-file", path); cli("automation", "create", "--from-json", json.dumps({"name": f"auto-3-{UID}", "enabled": False, "trigger": {"type": "event", "posture": "Reactive", "expect": ["x"], "threshold": 2, "within": 10}, "actions": [{"type": "do-nothing"}]})); cli("automation", "create", "--from-json", '{"name": "x"}'); cli("automation", "create", "--from-json", "{"); cli("automation", "ls", in_any_order=True); cli("automation", "inspect", n); cli("automation", "inspect", n, "--json"); cli("automation", "inspect", n, "--yaml"); cli("automation", "inspect", "none"); cli("automation", "inspect", "--id", ABSENT); cli("automation", "resume", n); cli("automation", "pause", n); cli("automation", "pause", "none"); cli("automation", "pause", "--id", ABSENT)
    i = client.read_automations_by_name(n)[0].id
    cli("automation", "update", "--id", i, "--from-json", json.dumps({"name": n, "description": "new", "enabled": False, "trigger": {"type": "event", "posture": "Reactive", "expect": ["y"], "threshold": 1, "within": 10}, "actions": [{"type": "do-nothing"}]})); cli("automation", "inspect", "--id", i, about="updated"); cli("automation", "delete", n); cli("automation", "delete", "--id", ABSENT); cli("automation", "delete", "none"); cli("automation", "delete", "--all", input="y\n"); cli("automation", "ls", about="after their end")


if __name__ == "__main__": main(walk)
