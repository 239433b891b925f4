"""What a story leaves on the server, read by plain HTTP: runs with their states, what became of their tasks, events, logs, artifacts.
"""
from _walk import *
from _walk import _API, _ID, _MADE_UP

http = httpx.Client(base_url=_API, timeout=60)
_TAIL = re.compile(r"(?<=-)[0-9a-f]{3}\b") # Of a task run's name, unless it was given one.


def api(method, path, **body):
    response = http.request(method, path, **({"json": body} if method != "GET" else {}))
    response.raise_for_status()
    return response.json() if response.content else None


def flow_runs(name):
    """the runs of a flow by their names, those with a made-up one in the order of their start"""
    runs = api("POST", "/flow_runs/filter", flows={"name": {"any_": [name]}}, sort="EXPECTED_START_TIME_ASC")
    return sorted(runs, key=lambda r: "" if _MADE_UP.match(r["name"]) else r["name"])


def states(kind, run):
    return sorted(api("GET", f"/{kind}_run_states/?{kind}_run_id={run['id']}"), key=lambda s: s["timestamp"])


def told(state):
    d = state["state_details"]
    return [state["type"], state["name"], _named(state["message"]),
            {k: bool(v) if k in ("cache_key", "cache_expiration", "scheduled_time", "pause_timeout", "transition_id", "task_parameters_id", "traceparent") else v
             for k, v in d.items() if v not in (None, False) and k not in ("flow_run_id", "task_run_id", "child_flow_run_id")},
            sorted(k for k in ("flow_run_id", "task_run_id", "child_flow_run_id") if d.get(k)),
            isinstance(state.get("data"), dict) and state["data"].get("type")]


def _named(message):
    return message and re.sub(r"will start [0-9.]+ second", "will start <number> second", re.sub(r"\b[a-z]+-[a-z]+\b(?=')", "<made up>", _TAIL.sub("<n>", message)))


def _kind(value):
    """a resource's id without that of the thing, since which of several alike is which differs from run to run"""
    return value.rsplit(".", 1)[0] if _ID.search(value) else value


def _flow_run(run):
    kept = {k: run[k] for k in ("name", "tags", "parameters", "run_count", "labels", "empirical_policy", "idempotency_key", "context",
                                "state_type", "state_name", "auto_scheduled", "created_by", "job_variables", "work_queue_name")}
    for k in ("start_time", "end_time", "expected_start_time", "next_scheduled_start_time", "deployment_id", "parent_task_run_id"): kept[k] = run[k] is not None
    return {**kept, "ran": run["total_run_time"] > 0, "states": [told(s) for s in states("flow", run)]}


def _task_run(run):
    kept = {k: run[k] for k in ("tags", "run_count", "flow_run_run_count", "labels", "empirical_policy", "state_type", "state_name")}
    for k in ("start_time", "end_time", "expected_start_time", "next_scheduled_start_time", "cache_key", "cache_expiration", "flow_run_id"): kept[k] = run[k] is not None
    inputs = {k: [(i["input_type"], i.get("name"), i.get("type")) for i in v] for k, v in (run["task_inputs"] or {}).items()}
    return {"name": _TAIL.sub("<n>", run["name"]), "task_key": run["task_key"].rsplit("-", 1)[0], **kept, "inputs": inputs,
            "ran": run["total_run_time"] > 0, "states": [told(s) for s in states("task", run)]}


def _task_runs(run):
    found = []
    while page := api("POST", "/task_runs/filter", task_runs={"flow_run_id": {"any_": [run["id"]]}}, limit=200, offset=len(found), sort="ID_DESC"): found += page
    return found


def _settled(run, count):
    """the run's task runs once as many as wanted are in their last state, or what there is after a while"""
    end = time.time() + 20
    while time.time() < end:
        found = _task_runs(run)
        if len(found) >= count and all(t["end_time"] or t["state_name"] in ("NotReady", "Scheduled", "AwaitingRetry") for t in found): break
        time.sleep(0.1)
    return found


def _events(run, tasks):
    """what happened to a run, its tasks and what they used, once there is an event of every state; in order for each but for what
    tasks use at once"""
    awaited = {s["id"] for s in states("flow", run)} | {s["id"] for t in tasks if not t["state"]["state_details"]["child_flow_run_id"] for s in states("task", t)}
    end = time.time() + 15
    while time.time() < end:
        page = api("POST", "/events/filter", limit=50, filter={"any_resource": {"id": [f"prefect.flow-run.{run['id']}"]}, "order": "ASC"})
        events = page["events"]
        while page["next_page"]:
            page = http.get(page["next_page"]).json()
            events += page["events"]
        if not awaited - {e["id"] for e in events}: break
        time.sleep(0.2)
    of = {}
    for e in events:
        if e["event"].endswith(".heartbeat"): continue
        about = e["resource"]["prefect.resource.id"]
        of.setdefault(about, []).append({"event": e["event"], "follows": e["follows"] is not None, "payload": sorted(e["payload"]),
                                         "labels": {k: _named(_TAIL.sub("<n>", v)) if k in ("prefect.resource.name", "prefect.state-message") else _kind(v)
                                                    for k, v in e["resource"].items() if k != "prefect.state-timestamp"},
                                         "related": sorted([r["prefect.resource.role"], r["prefect.resource.id"].rsplit(".", 1)[0]] for r in e["related"])})
    for about, events in of.items():
        if not about.startswith(("prefect.flow-run.", "prefect.task-run.")): events.sort(key=lambda e: (e["event"], e["follows"]))
    return sorted(of.values(), key=lambda events: json.dumps(plain(events), sort_keys=True))


def _logs(run, ordered):
    end, last = time.time() + 10, -1
    while time.time() < end:
        found = []
        while page := api("POST", "/logs/filter", logs={"flow_run_id": {"any_": [run["id"]]}}, limit=200, offset=len(found), sort="TIMESTAMP_ASC"): found += page
        if len(found) == last and any("Finished in state" in l["message"] or "Crash" in l["message"] for l in found): break
        last = len(found)
        time.sleep(0.3)
    lines = [[l["name"], l["level"], _named(_TAIL.sub("<n>", l["message"].split("\nTraceback")[0])), l["task_run_id"] is not None] for l in found]
    return lines if ordered else sorted(lines, key=str)


def left(name, tasks=0, ordered=False, logs=True):
    """writes what is left of the runs of a flow; so many task runs are waited for in each run that has tasks"""
    for n, run in enumerate(flow_runs(name)):
        about = f"{name.replace(UID, '').strip('-')} {n or ''}".strip()
        found = _settled(run, tasks)
        say(f"run of {about}", _flow_run(run))
        for line in sorted((_task_run(t) for t in found), key=lambda t: json.dumps(plain(t), sort_keys=True)): say(f"task of {about}: {line['name']}", line)
        say(f"events of {about}", _events(run, found))
        if logs: say(f"logs of {about}", _logs(run, ordered))
        graph = api("GET", f"/flow_runs/{run['id']}/graph-v2")
        say(f"graph of {about}", sorted([node["kind"], re.sub(r"/ [a-z]+-[a-z]+$", "/ <made up>", _TAIL.sub("<n>", node["label"])), node["state_type"], len({p["id"] for p in node["parents"]}), len({c["id"] for c in node["children"]}), len(node["encapsulating"]), len(node["artifacts"])] for _, node in graph["nodes"]))
        for a in sorted(api("POST", "/artifacts/filter", artifacts={"flow_run_id": {"any_": [run["id"]]}}), key=lambda a: str((a["key"], a["type"], a["data"]))):
            if a["key"] or a["type"]: say(f"artifact of {about}", {k: a[k] for k in ("key", "type", "description", "data", "metadata_")} | {"task": a["task_run_id"] is not None})
