"""Run a flow on the server at PREFECT_API_URL, and call every tool of Prefect's MCP server about it."""

import asyncio
import sys
import time

from fastmcp import Client
from prefect import flow, get_client, task
from prefect.client.schemas.filters import FlowRunFilter
from prefect.runtime import flow_run
from prefect_mcp_server.server import mcp

# Tools that ask other servers: of the hosted product, and of the documentation.
ELSEWHERE = ("review_rate_limits", "docs_")


@task
def double(x):
    return 2 * x


@flow(name="mcp", log_prints=True)
def run_of_mcp():
    print(double(21))
    return flow_run.id


def stored(run):
    """Wait until the server has the task run, which it records from an event."""
    with get_client(sync_client=True) as client:
        for _ in range(600):
            if client.read_task_runs(flow_run_filter=FlowRunFilter(id={"any_": [run]})):
                return
            time.sleep(0.1)
    sys.exit("the task run is not stored")


async def main(run):
    calls = {
        "orientation": {},
        "get_identity": {},
        "get_dashboard": {},
        "get_deployments": {},
        "get_flows": {"filter": {"name": {"any_": ["mcp"]}}},
        "get_flow_runs": {"filter": {"id": {"any_": [run]}}},
        "get_flow_run_logs": {"flow_run_id": run},
        "get_task_runs": {"filter": {"name": {"like_": "double"}}},
        "get_work_pools": {},
        "read_events": {"event_type_prefix": "prefect.flow-run"},
        "get_automations": {},
        "get_object_schema": {"object_type": "automation"},
    }
    wrong = []
    async with Client(mcp) as client:
        tools = {tool.name for tool in await client.list_tools()}
        wrong += [f"{name} is not called" for name in tools - calls.keys() if not name.startswith(ELSEWHERE)]
        for name in sorted(tools & calls.keys()):
            result = await client.call_tool(name, calls[name])
            content = result.structured_content or {}
            if result.is_error or content.get("success") is False or content.get("error"):
                wrong.append(f"{name}: {content}")
            elif name in ("get_flows", "get_flow_runs", "get_flow_run_logs", "get_task_runs", "read_events") and not content.get("count", content.get("total", 1)):
                wrong.append(f"{name} found nothing: {content}")
            print(name, str(content)[:200])
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    run = str(run_of_mcp())
    stored(run)
    asyncio.run(main(run))
