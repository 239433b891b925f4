"""(o) runs found again by many filters and sorts through the client, counted, paged, renamed, tagged and deleted; logs by level, run,
time and page."""
from _lib import *
import logging
from datetime import datetime, timedelta, timezone
from prefect import flow, task, tags, get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import *
from prefect.client.schemas.sorting import FlowRunSort, LogSort
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Failed, Pending, Scheduled

A, B = f"scn-o-a-{UID}", f"scn-o-b-{UID}"

@task(tags=["leaf"])
def talk(n):
    log = get_run_logger()
    log.warning("task %s warns of the %s", n, UID); log.debug("not sent"); log.error("broken pipe in %s", n)

@flow(name=A, version="v7", flow_run_name="a-{n}")
def a_flow(n):
    get_run_logger().info("plain text %s", n)
    talk(n)
    for i in range(30): get_run_logger().info("line %s of %s", i, n)

@flow(name=B)
def b_flow(): raise ValueError("as intended")

def eventually(fn, want, what):
    seen = []
    def ok():
        seen[:] = [fn()]; return seen[0] == want
    try: wait_for(ok, what)
    except AssertionError: check(False, f"{what}: {seen} instead of {want}")
    check(True, what)

def main():
    began = datetime.now(timezone.utc)
    with tags(f"o-{UID}", "common"):
        a_states = [a_flow(n, return_state=True) for n in range(3)]
        with tags("odd"): b_state = b_flow(return_state=True)
    ids = [s.state_details.flow_run_id for s in a_states]; b_id = b_state.state_details.flow_run_id
    mine = FlowRunFilterTags(all_=[f"o-{UID}"])
    with get_client(sync_client=True) as c:
        flow_a = c.read_flow_by_name(A)
        soon = datetime.now(timezone.utc) + timedelta(hours=1)
        later = c.create_flow_run(a_flow, parameters={"n": 9}, tags=[f"o-{UID}", "planned"], name=f"planned-{UID}",
                                  state=Scheduled(scheduled_time=soon))
        def found(frf=None, **kw): return {r.id for r in c.read_flow_runs(flow_run_filter=FlowRunFilter(tags=mine, **(frf or {})), **kw)}
        everything = {*ids, b_id, later.id}
        cases = {
            "tags all_": (found(), everything),
            "tags any_": ({r.id for r in c.read_flow_runs(flow_run_filter=FlowRunFilter(tags=FlowRunFilterTags(any_=["odd"]), id=FlowRunFilterId(any_=list(everything))))}, {b_id}),
            "id any_": (found({"id": FlowRunFilterId(any_=ids[:2])}), set(ids[:2])),
            "id not_any_": (found({"id": FlowRunFilterId(not_any_=ids)}), {b_id, later.id}),
            "name any_": (found({"name": FlowRunFilterName(any_=["a-1"])}), {ids[1]}),
            "name like_": (found({"name": FlowRunFilterName(like_="LANNED-")}), {later.id}),
            "state type": (found({"state": FlowRunFilterState(type=FlowRunFilterStateType(any_=["COMPLETED"]))}), set(ids)),
            "state type not_any_": (found({"state": FlowRunFilterState(type=FlowRunFilterStateType(not_any_=["COMPLETED", "FAILED"]))}), {later.id}),
            "state name": (found({"state": FlowRunFilterState(name=FlowRunFilterStateName(any_=["Failed", "Scheduled"]))}), {b_id, later.id}),
            "flow version": (found({"flow_version": FlowRunFilterFlowVersion(any_=["v7"])}) >= set(ids), True),
            "start time null": (found({"start_time": FlowRunFilterStartTime(is_null_=True)}), {later.id}),
            "start time after_": (found({"start_time": FlowRunFilterStartTime(after_=began)}), everything), # Of what has not started: when it will.
            "start time before_": (found({"start_time": FlowRunFilterStartTime(before_=soon - timedelta(minutes=1))}), everything - {later.id}),
            "end time before_": (found({"end_time": FlowRunFilterEndTime(before_=began)}), set()),
            "expected start after_": (found({"expected_start_time": FlowRunFilterExpectedStartTime(after_=soon - timedelta(minutes=1))}), {later.id}),
            "next scheduled before_": (found({"next_scheduled_start_time": FlowRunFilterNextScheduledStartTime(before_=soon + timedelta(minutes=1))}), {later.id}),
            "no deployment": (found({"deployment_id": FlowRunFilterDeploymentId(is_null_=True)}), everything),
            "no parent": (found({"parent_task_run_id": FlowRunFilterParentTaskRunId(is_null_=True)}), everything),
            "work queue any_": (found({"work_queue_name": FlowRunFilterWorkQueueName(any_=["none such"])}), set()),
            "by flow name": (found(flow_filter=FlowFilter(name=FlowFilterName(any_=[B]))), {b_id}),
            "by flow name like_": (found(flow_filter=FlowFilter(name=FlowFilterName(like_="o-a-"))), everything - {b_id}),
            "by flow id": (found(flow_filter=FlowFilter(id=FlowFilterId(any_=[flow_a.id]))), {*ids, later.id}),
            "or": ({r.id for r in c.read_flow_runs(flow_run_filter=FlowRunFilter(operator="or_", name=FlowRunFilterName(any_=[f"planned-{UID}"]),
                                                                                id=FlowRunFilterId(any_=[b_id])))}, {b_id, later.id}),
        }
        for what, (got, want) in cases.items(): check(got == want, f"filter {what} ({got if got != want else 'ok'})")
        eventually(lambda: found(task_run_filter=TaskRunFilter(tags=TaskRunFilterTags(all_=["leaf"]), name=TaskRunFilterName(like_="talk"))), set(ids),
                   "flow runs by the tags of their task runs")
        eventually(lambda: {f.name for f in c.read_flows(flow_run_filter=FlowRunFilter(tags=mine), task_run_filter=TaskRunFilter(state=TaskRunFilterState(
                   type=TaskRunFilterStateType(any_=["COMPLETED"]))))}, {A}, "flows by the state of their task runs")
        def names(sort, **kw): return [r.name for r in c.read_flow_runs(flow_run_filter=FlowRunFilter(tags=mine, id=FlowRunFilterId(any_=[*ids, later.id])), sort=sort, **kw)]
        want = ["a-0", "a-1", "a-2", f"planned-{UID}"]
        check(names(FlowRunSort.NAME_ASC) == want and names(FlowRunSort.NAME_DESC) == want[::-1], "sorted by name")
        check(names(FlowRunSort.EXPECTED_START_TIME_DESC)[0] == want[3] and names(FlowRunSort.START_TIME_ASC)[:3] == want[:3], "sorted by times")
        check(names(FlowRunSort.NAME_ASC, limit=2, offset=1) == want[1:3], "paged")
        for sort in FlowRunSort: check(len(names(sort)) == 4, f"sort {sort.value} loses none")
        check(c.count_flow_runs(flow_run_filter=FlowRunFilter(tags=mine)) == 5, "counted")
        h = c.request("POST", "/flow_runs/history", json={"history_start": began.isoformat(), "history_end": (began + timedelta(minutes=10)).isoformat(),
                      "history_interval_seconds": 600, "flow_runs": {"tags": {"all_": [f"o-{UID}"]}}}).json()
        check(sum(s["count_runs"] for s in h[0]["states"]) == 4, f"history of the four that started ({h})")

        c.update_flow_run(later.id, name="renamed", tags=["other"])
        r = c.read_flow_run(later.id)
        check(r.name == "renamed" and r.tags == ["other"] and r.parameters == {"n": 9}, "renamed and tagged anew, the rest kept")
        check(c.set_flow_run_state(later.id, Cancelled(message="no need")).status.value == "ACCEPT", "cancelled before its start")
        check(c.set_flow_run_state(later.id, Pending()).status.value == "ABORT", "a final state holds")
        check(c.set_flow_run_state(later.id, Failed(message="forced"), force=True).status.value == "ACCEPT", "unless forced")
        c.delete_flow_run(later.id)
        try: c.read_flow_run(later.id); check(False, "must be gone")
        except ObjectNotFound: check(True, "deleted")

        of_a0 = LogFilterFlowRunId(any_=[ids[0]])
        wait_for(lambda: len(c.read_logs(log_filter=LogFilter(flow_run_id=LogFilterFlowRunId(any_=ids)), limit=200)) >= 99, "logs of three runs")
        logs = c.read_logs(log_filter=LogFilter(flow_run_id=of_a0), sort=LogSort.TIMESTAMP_ASC, limit=200)
        lines = [l.message for l in logs if l.message.startswith("line ")]
        check(lines == [f"line {i} of 0" for i in range(30)], "in the order they were written")
        back = c.read_logs(log_filter=LogFilter(flow_run_id=of_a0), sort=LogSort.TIMESTAMP_DESC, limit=200)
        check([l.timestamp for l in back] == sorted((l.timestamp for l in logs), reverse=True), "and backwards")
        warned = c.read_logs(log_filter=LogFilter(flow_run_id=of_a0, level=LogFilterLevel(ge_=logging.WARNING)))
        check([l.level for l in sorted(warned, key=lambda l: l.level)] == [30, 40] and all(l.task_run_id for l in warned), "by level, with the task run")
        check(len(c.read_logs(log_filter=LogFilter(task_run_id=LogFilterTaskRunId(any_=[warned[0].task_run_id])))) >= 2, "by task run")
        early = c.read_logs(log_filter=LogFilter(flow_run_id=of_a0, timestamp=LogFilterTimestamp(before_=logs[4].timestamp)), limit=200)
        check({l.id for l in early} == {l.id for l in logs if l.timestamp <= logs[4].timestamp}, "by time")
        page = c.read_logs(log_filter=LogFilter(flow_run_id=of_a0), sort=LogSort.TIMESTAMP_ASC, limit=10, offset=10)
        check([l.id for l in page] == [l.id for l in logs[10:20]], "by page")

if __name__ == "__main__": run(main)
