"""Writes the database of a Prefect server with the server's own code: generate.py URL RUNS.

Of RUNS, each tenth of the flow runs belongs to a deployment; every flow run has one task run, and each run its states, a log, an
event and an artifact. All else exists a few times, in every shape that a server stores.
"""

import asyncio
import datetime
import os
import random
import sys
import uuid

url, runs = sys.argv[1], int(sys.argv[2])
os.environ["PREFECT_API_DATABASE_CONNECTION_URL"] = url
os.environ["PREFECT_API_DATABASE_TIMEOUT"] = "600"
os.environ["DO_NOT_TRACK"] = "1"

import sqlalchemy as sa
from prefect.server import models, schemas
from prefect.server.database import orm_models as orm
from prefect.server.database.dependencies import provide_database_interface
from prefect.server.events import actions, triggers as _triggers  # noqa: F401
from prefect.server.events.models.automations import create_automation
from prefect.server.events.schemas.automations import Automation
from prefect.server.models.block_registration import run_block_auto_registration

RANDOM = random.Random(44)
# Events are stored for a week.
START = datetime.datetime.now(datetime.timezone.utc).replace(hour=1) - datetime.timedelta(days=3)
HISTORIES = [
    ["SCHEDULED", "PENDING", "RUNNING", "COMPLETED"], ["PENDING", "RUNNING", "FAILED"], ["SCHEDULED", "CANCELLED"],
    ["PENDING", "RUNNING", "CRASHED"], ["PENDING", "RUNNING", "PAUSED"], ["SCHEDULED"], ["PENDING"], ["PENDING", "RUNNING"],
    ["PENDING", "RUNNING", "CANCELLING"], ["SCHEDULED", "PENDING", "RUNNING", "COMPLETED"],
]


def new_id():
    return uuid.UUID(int=RANDOM.getrandbits(128), version=4)


def moment(second, micro=0):
    return START + datetime.timedelta(seconds=second, microseconds=micro)


def columns(model, row):
    """The values of a row whose columns this version has."""
    known = {c.key for c in sa.inspect(model).column_attrs}
    return {k: v for k, v in row.items() if k in known}


async def few(session):
    """What a server has few of, made by its own functions."""
    types = {t.slug: t for t in await models.block_types.read_block_types(session=session)}

    async def block(slug, name, data):
        schema = (await models.block_schemas.read_block_schemas(
            session=session, block_schema_filter=schemas.filters.BlockSchemaFilter(
                block_type_id=schemas.filters.BlockSchemaFilterBlockTypeId(any_=[types[slug].id]))))[0]
        return await models.block_documents.create_block_document(session=session, block_document=schemas.actions.BlockDocumentCreate(
            name=name, data=data, block_schema_id=schema.id, block_type_id=types[slug].id))

    await block("secret", "password", {"value": "horse battery Ä"})
    files = await block("local-file-system", "results", {"basepath": "/srv/results"})
    await block("json", "settings", {"value": {"a": [1, 2.5, None]}}) if "json" in types else None

    # A type of a user with a nested block.
    from prefect.blocks.core import Block
    from pydantic import SecretStr

    class Inner(Block):
        _block_type_slug = "inner"
        token: SecretStr

    class Outer(Block):
        _block_type_slug = "outer"
        inner: Inner
        label: str = "x"

    made = {}
    for kind in (Inner, Outer):
        t = await models.block_types.create_block_type(session=session, block_type=schemas.actions.BlockTypeCreate(
            name=kind.__name__, slug=kind._block_type_slug, description="of a user"))
        s = await models.block_schemas.create_block_schema(session=session, block_schema=schemas.actions.BlockSchemaCreate(
            fields=kind.model_json_schema(ref_template="#/definitions/{model}"), block_type_id=t.id, capabilities=["a"]))
        made[kind.__name__] = (t, s)
    inner = await models.block_documents.create_block_document(session=session, block_document=schemas.actions.BlockDocumentCreate(
        name="the-inner", data={"token": "t0ken"}, block_schema_id=made["Inner"][1].id, block_type_id=made["Inner"][0].id))
    await models.block_documents.create_block_document(session=session, block_document=schemas.actions.BlockDocumentCreate(
        name="the-outer", data={"inner": {"$ref": {"block_document_id": str(inner.id)}}, "label": "y"},
        block_schema_id=made["Outer"][1].id, block_type_id=made["Outer"][0].id))

    for i, value in enumerate(["text", 7, {"deep": [True, None]}, None]):
        await models.variables.create_variable(session=session, variable=schemas.actions.VariableCreate(name=f"v{i}", value=value, tags=["a", "b"]))
    await models.saved_searches.create_saved_search(session=session, saved_search=schemas.core.SavedSearch(
        name="failed", filters=[{"object": "flow_run", "property": "state", "type": "string", "operation": "equals", "value": "FAILED"}]))
    await models.concurrency_limits.create_concurrency_limit(
        session=session, concurrency_limit=schemas.core.ConcurrencyLimit(tag="database", concurrency_limit=3))
    for i in range(3):
        await models.concurrency_limits_v2.create_concurrency_limit(session=session, concurrency_limit=schemas.core.ConcurrencyLimitV2(
            name=f"limit-{i}", limit=i + 1, active=i != 2, slot_decay_per_second=i / 10))

    flows = [await models.flows.create_flow(session=session, flow=schemas.core.Flow(name=f"flow-{i}", tags=[f"t{i}"])) for i in range(20)]
    pool = await models.workers.create_work_pool(session=session, work_pool=schemas.actions.WorkPoolCreate(
        name="pool", type="process", description="d", concurrency_limit=4, base_job_template={"job_configuration": {"command": "{{ command }}"}, "variables": {"properties": {"command": {"type": "string"}}}}))
    urgent = await models.workers.create_work_queue(session=session, work_pool_id=pool.id, work_queue=schemas.actions.WorkQueueCreate(
        name="urgent", priority=1, concurrency_limit=2))
    await models.workers.worker_heartbeat(session=session, work_pool_id=pool.id, worker_name="worker-1", heartbeat_interval_seconds=30)
    limit = await models.concurrency_limits_v2.read_concurrency_limit(session=session, name="limit-1")
    deployments = []
    schedules = [
        {"cron": "0 6 * * *", "timezone": "Europe/Berlin"}, {"interval": 3600, "anchor_date": "2026-01-01T00:00:00Z"}, {"rrule": "FREQ=DAILY;COUNT=900"},
    ]
    for i in range(20):
        create = dict(
            name=f"deployment-{i}", flow_id=flows[i].id, tags=["d"], version=f"v{i}", description="text", paused=i % 5 == 4,
            parameters={"n": i}, job_variables={"env": {"A": str(i)}}, entrypoint="flow.py:f", path="/srv",
            parameter_openapi_schema={"type": "object", "properties": {"n": {"type": "integer"}}}, enforce_parameter_schema=i % 2 == 0,
            pull_steps=[{"prefect.deployments.steps.set_working_directory": {"directory": "/srv"}}] if i % 3 else None,
            work_queue_id=urgent.id if i % 2 else pool.default_queue_id, work_queue_name="urgent" if i % 2 else "default",
            schedules=[schemas.core.DeploymentSchedule(schedule=schedules[i % 3], active=i % 4 != 3)] if i < 12 else [],
        )
        if i == 3:
            create["concurrency_limit"], create["concurrency_options"] = 5, {"collision_strategy": "ENQUEUE"}
        deployment = await models.deployments.create_deployment(session=session, deployment=schemas.core.Deployment(
            **{k: v for k, v in create.items() if k in schemas.core.Deployment.model_fields}))
        deployments.append(deployment)
    if "concurrency_limit_id" in sa.inspect(orm.Deployment).columns:
        await session.execute(sa.update(orm.Deployment).where(orm.Deployment.id == deployments[5].id).values(concurrency_limit_id=limit.id))

    for i, posture in enumerate(["Reactive", "Proactive"]):
        await create_automation(session=session, automation=Automation(
            name=f"automation-{i}", description="text", enabled=i == 0,
            trigger={"type": "event", "posture": posture, "expect": ["prefect.flow-run.Failed"], "threshold": 1, "within": 30,
                     "match": {"prefect.resource.id": "prefect.flow-run.*"}, "for_each": ["prefect.resource.id"]},
            actions=[{"type": "run-deployment", "source": "selected", "deployment_id": str(deployments[0].id), "parameters": {"n": 1}},
                     {"type": "pause-work-queue", "source": "selected", "work_queue_id": str(urgent.id)}],
        ))
    return flows, deployments, pool, urgent, files


def many(flows, deployments, urgent, first, last):
    """The rows of runs from first to last, by model."""
    rows = {m: [] for m in (orm.FlowRun, orm.TaskRun, orm.FlowRunState, orm.TaskRunState, orm.Log, orm.Event, orm.EventResource, orm.Artifact)}
    current = []
    for i in range(first, last):
        history = HISTORIES[i % len(HISTORIES)]
        begin, run_id, task_id = i * 2 % 200_000, new_id(), new_id()
        flow, deployment = flows[i % len(flows)], deployments[i % len(deployments)] if i % 10 == 0 else None
        started = "RUNNING" in history
        times = dict(
            run_count=int(started), expected_start_time=moment(begin), start_time=moment(begin + 1, 345678) if started else None,
            end_time=moment(begin + 3, 1) if history[-1] in ("COMPLETED", "FAILED", "CANCELLED", "CRASHED") else None,
            next_scheduled_start_time=moment(begin) if history[-1] == "SCHEDULED" else None,
            total_run_time=datetime.timedelta(seconds=1.654322) if history[-1] in ("COMPLETED", "FAILED", "CRASHED") else datetime.timedelta(0),
            state_type=history[-1], state_name=history[-1].title(), state_timestamp=moment(begin + len(history) - 1, i % 1_000_000),
            created=moment(begin, 7), updated=moment(begin + 3, 9), tags=["x", f"tag-{i % 7}"], labels={"prefect.flow.id": str(flow.id)},
        )
        ids = {orm.FlowRunState: [new_id() for _ in history], orm.TaskRunState: [new_id() for _ in history]}
        rows[orm.FlowRun].append(columns(orm.FlowRun, dict(
            times, id=run_id, name=f"run-{i}", flow_id=flow.id, deployment_id=deployment and deployment.id, parameters={"n": i, "s": "ä"},
            flow_version="1", idempotency_key=f"key-{i}" if i % 2 else None, context={"a": 1} if i % 9 == 0 else {},
            empirical_policy={"retries": 2, "retry_delay": 5}, work_queue_id=urgent.id if deployment else None,
            work_queue_name="urgent" if deployment else None, auto_scheduled=bool(deployment), infrastructure_pid="host:1" if started else None,
            job_variables={"v": 1} if deployment else {}, deployment_version=deployment and deployment.version,
            created_by={"id": str(deployment.id), "type": "DEPLOYMENT", "display_value": deployment.name} if deployment else None,
        )))
        rows[orm.TaskRun].append(columns(orm.TaskRun, dict(
            times, id=task_id, name=f"task-{i}", flow_run_id=run_id, task_key="t", dynamic_key=str(i), task_version="2", flow_run_run_count=1,
            cache_key=f"cache-{i}" if i % 5 == 0 else None, empirical_policy={"retries": 1, "retry_delay": [1, 2]},
            task_inputs={"x": [{"input_type": "parameter", "name": "n"}, {"input_type": "constant", "type": "int"}]},
        )))
        for model, owner, of in ((orm.FlowRunState, "flow_run_id", run_id), (orm.TaskRunState, "task_run_id", task_id)):
            for n, kind in enumerate(history):
                rows[model].append(dict(
                    {owner: of}, id=ids[model][n], type=kind, name=kind.title(), timestamp=moment(begin + n, i % 1_000_000), created=moment(begin + n),
                    updated=moment(begin + n), message="Flow run encountered an exception." if kind == "FAILED" else None,
                    state_details={owner: str(of), "scheduled_time": moment(begin).isoformat() if kind == "SCHEDULED" else None},
                    _data={"type": "unpersisted"} if kind == "COMPLETED" else None,
                ))
        current.append((run_id, ids[orm.FlowRunState][-1], task_id, ids[orm.TaskRunState][-1]))
        rows[orm.Log].append(dict(
            id=new_id(), name="prefect.flow_runs", level=20, flow_run_id=run_id, task_run_id=task_id if i % 2 else None,
            message=f"line {i}\n\twith a tab and ☃", timestamp=moment(begin, 42), created=moment(begin, 43), updated=moment(begin, 43)))
        event, resource = new_id(), {"prefect.resource.id": f"prefect.flow-run.{run_id}", "prefect.resource.name": f"run-{i}"}
        related = [{"prefect.resource.id": f"prefect.flow.{flow.id}", "prefect.resource.role": "flow", "prefect.resource.name": flow.name}]
        rows[orm.Event].append(dict(
            id=event, occurred=moment(begin, 77), event=f"prefect.flow-run.{history[-1].title()}", resource_id=resource["prefect.resource.id"],
            resource=resource, related=related, related_resource_ids=[related[0]["prefect.resource.id"]], payload={"n": i}, received=moment(begin, 99),
            recorded=moment(begin, 100), follows=None, created=moment(begin), updated=moment(begin)))
        for r, role in ((resource, ""), (related[0], "flow")):
            rows[orm.EventResource].append(dict(
                id=new_id(), occurred=moment(begin, 77), resource_id=r["prefect.resource.id"], resource_role=role, resource=r, event_id=event,
                created=moment(begin), updated=moment(begin)))
        rows[orm.Artifact].append(dict(
            id=new_id(), key=f"report-{i % 50}" if i % 3 else None, type="markdown", data=f"# {i}", description="d", metadata_={"a": "b"},
            flow_run_id=run_id, task_run_id=task_id, created=moment(begin, 11), updated=moment(begin, 12)))
    return rows, current


async def main():
    db = provide_database_interface()
    await db.create_db()
    async with db.session_context() as session:
        await run_block_auto_registration(session=session)
    async with db.session_context(begin_transaction=True) as session:
        flows, deployments, _, urgent, _ = await few(session)
        for model in (flows, deployments):
            for one in model:
                session.expunge(one)
        session.expunge(urgent)
    latest = {}
    for first in range(0, runs, 5000):
        rows, current = many(flows, deployments, urgent, first, min(runs, first + 5000))
        for artifact in rows[orm.Artifact]:
            if artifact["key"]:
                latest[artifact["key"]] = artifact
        async with db.session_context(begin_transaction=True) as session:
            for model, values in rows.items():
                await session.execute(sa.insert(model), values)
            runs_table, tasks_table = orm.FlowRun.__table__, orm.TaskRun.__table__
            connection = await session.connection()
            await connection.execute(
                sa.update(runs_table).where(runs_table.c.id == sa.bindparam("_id")).values(state_id=sa.bindparam("_state"), updated=runs_table.c.updated),
                [{"_id": run, "_state": state} for run, state, _, _ in current])
            await connection.execute(
                sa.update(tasks_table).where(tasks_table.c.id == sa.bindparam("_id")).values(state_id=sa.bindparam("_state"), updated=tasks_table.c.updated),
                [{"_id": task, "_state": state} for _, _, task, state in current])
    async with db.session_context(begin_transaction=True) as session:
        await session.execute(sa.insert(orm.ArtifactCollection), [
            dict({k: a[k] for k in ("key", "type", "data", "description", "metadata_", "flow_run_id", "task_run_id", "created", "updated")},
                 id=new_id(), latest_id=a["id"]) for a in latest.values()])
        await session.execute(sa.insert(orm.FlowRunInput), [
            dict(id=new_id(), flow_run_id=current[0][0], key="answer", value='"42"', sender="prefect.flow-run.x")])


asyncio.run(main())
