"""What walks share. A walk makes calls of the SDK one after another and writes what became of each as a line of JSON: what went over
the wire and what the caller got. Ids, times and made-up names are written by what they stand for, so that the lines of two servers
are equal where the servers behave alike.
"""
import asyncio, inspect, json, os, re, shutil, sys, tempfile, time, traceback, uuid

HOME = tempfile.mkdtemp(prefix="walk-")
os.environ.update(PREFECT_HOME=HOME, DO_NOT_TRACK="1", PREFECT_SERVER_ANALYTICS_ENABLED="false", PREFECT_CLI_PROMPT="false", NO_COLOR="1",
                  PREFECT_LOGGING_LEVEL=os.environ.get("WALK_LOGGING_LEVEL", "CRITICAL"), PREFECT_LOGGING_TO_API_ENABLED=os.environ.get("WALK_LOGS", "false"), COLUMNS="300")

import httpx
from pydantic import BaseModel
from prefect.client import base
from prefect.client.orchestration import PrefectClient, SyncPrefectClient, get_client

UID = uuid.uuid4().hex[:8]
ABSENT = uuid.UUID("00000000-0000-4000-8000-000000000404")
_API = os.environ["PREFECT_API_URL"]
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|[+-]\d\d:?\d\d))?")
_STORED = re.compile(r"(?<=storage/)[0-9a-f]{32}\b") # Where a result is kept.
_CHECKSUM = re.compile(r"sha256:[0-9a-f]{64}") # Of a schema that names UID.
_MADE_UP = re.compile(r"^[a-z]+-[a-z]+$")
# Numbers that no two runs share: durations, and averages of them.
_MEASURED = {"total_run_time", "estimated_run_time", "estimated_start_time_delta", "avg_slot_occupancy_seconds", "sum_estimated_run_time",
             "sum_estimated_lateness", "delay_seconds"}
# What the Python server writes in an arbitrary order.
_SETS = {"tags", "pause_keys", "expect", "after", "for_each", "capabilities", "printed in any order"}
_known = {str(ABSENT): "<absent>"}
_step, _wire, _ordered = "", None, False


def plain(value, place=""):
    """a value as JSON, without what belongs to one run"""
    if isinstance(value, BaseModel): value = value.model_dump(mode="json")
    if isinstance(value, dict) and "loc" in value and "msg" in value: # A validation error of the framework.
        return {"loc": value["loc"], "type": value["type"]}
    if isinstance(value, dict): return {text(str(k), place): plain(v, str(k)) for k, v in value.items()}
    if isinstance(value, (set, frozenset)) or place in _SETS and isinstance(value, list): return sorted((plain(v) for v in value), key=str)
    if isinstance(value, (list, tuple)): return [plain(v, place) for v in value]
    if isinstance(value, (bool, type(None))): return value
    if isinstance(value, (int, float)): return "<number>" if place in _MEASURED else value
    if isinstance(value, httpx.Response): return answer(value)
    if isinstance(value, (str, uuid.UUID)): return text(str(value), place)
    return text(repr(value), place)


def text(value, place=""):
    if place in ("name", "prefect.resource.name") and _MADE_UP.match(value): return "<made up>"
    if "page-token=" in value: value = re.sub(r"page-token=[^&]*", "page-token=<token>", value)
    value = _STORED.sub("<key>", _CHECKSUM.sub("<checksum>", value)).replace(_API, "<api>").replace(_API.removesuffix("/api"), "<server>").replace(UID, "UID").replace(HOME, "<home>")
    if len(value) > 4000: value = f"{value[:40]}… ({len(value)} characters)"
    value = _TIME.sub("<time>", re.sub(r"(DateTime|datetime\.datetime)\([^)]*(\([^)]*\))?\)|datetime\.timedelta\([^)]*\)", "<time>", value))
    return _ID.sub(lambda m: _known.setdefault(m.group().lower(), f"<{place} of {_step}>"), value)


def answer(response):
    try: body = response.json()
    except Exception: body = response.text
    body = plain(body, "body")
    if not _ordered and isinstance(body, list): body.sort(key=str)
    headers = {k: "<number>" for k in ("Retry-After",) if k in response.headers}
    return {"status": response.status_code, "body": body, **headers}


def _record(request, response):
    if _wire is None or request.url.path.endswith(("/csrf-token", "/admin/version")): return
    path = request.url.path + ("?" + request.url.query.decode() if request.url.query else "")
    _wire.append({"call": text(f"{request.method} {path}"), **answer(response)})


def _watch():
    sync, plain_async = base.PrefectHttpxSyncClient.send, base.PrefectHttpxAsyncClient.send
    def send(self, request, *args, **kwargs):
        try: response = sync(self, request, *args, **kwargs)
        except httpx.HTTPStatusError as e:
            _record(request, e.response)
            raise
        _record(request, response)
        return response
    async def asend(self, request, *args, **kwargs):
        try: response = await plain_async(self, request, *args, **kwargs)
        except httpx.HTTPStatusError as e:
            await e.response.aread()
            _record(request, e.response)
            raise
        await response.aread()
        _record(request, response)
        return response
    base.PrefectHttpxSyncClient.send, base.PrefectHttpxAsyncClient.send = send, asend


_watch()


def step(name, do, wire=True, result=True, ordered=False):
    """does something and writes what became of it; returns what it returned, None if it raised. The order of an answer's elements
    counts where it was asked for."""
    global _step, _wire, _ordered
    _step, _wire, _ordered = name, [], ordered
    line = {"step": name}
    value = None
    try:
        value = do()
        if inspect.isawaitable(value): value = loop().run_until_complete(value)
        if result: line["result"] = plain(value, "result")
    except (SystemExit, Exception) as e:
        value = None
        line["raised"] = type(e).__name__
        if not isinstance(e, httpx.HTTPStatusError) and not isinstance(getattr(e, "http_exc", None), Exception):
            line["says"] = text(str(e))
        if os.environ.get("WALK_TRACE"): traceback.print_exc()
    if wire: line["wire"] = _wire
    _wire = None
    print(json.dumps(line, sort_keys=True), flush=True)
    return value


def say(name, value):
    """writes something that was found without a step of its own"""
    global _step
    _step = name
    print(json.dumps({"step": text(name), "result": plain(value, "result")}, sort_keys=True), flush=True)


_loop = None


def loop():
    global _loop
    if _loop is None: _loop = asyncio.new_event_loop()
    return _loop


class Walker:
    """One of the SDK's two clients, whose every call is a step that goes by the method's name and what is said of it. What the
    server answers is all that the result is made of, so the result is left out."""

    def __init__(self, client):
        self.client, self.called = client, set()

    def __getattr__(self, method):
        def call(*args, about="", ordered=False, **kwargs):
            self.called.add(method)
            return step(f"{method} {about}".strip(), lambda: getattr(self.client, method)(*args, **kwargs), result=False, ordered=ordered)
        return call

    def eventually(self, method, *args, about="", ordered=False, until, **kwargs):
        """asks until the answer is right, and writes that; or the last one"""
        end = time.time() + 20
        while True:
            try: value = getattr(self.client, method)(*args, **kwargs)
            except Exception as e: value = e
            if inspect.isawaitable(value):
                try: value = loop().run_until_complete(value)
                except Exception as e: value = e
            try: right = until(value)
            except Exception: right = False
            if right or time.time() > end: break
            time.sleep(0.1)
        return getattr(self, method)(*args, about=about, ordered=ordered, **kwargs)


def methods(client):
    return {n for n, m in inspect.getmembers(type(client), callable) if not n.startswith("_")}


def main(walk):
    """runs a walk with the client that WALK_CLIENT names: sync or async"""
    try:
        if os.environ.get("WALK_CLIENT", "sync") == "sync":
            with get_client(sync_client=True) as client: walk(Walker(client))
        else:
            client = get_client()
            loop().run_until_complete(client.__aenter__())
            try: walk(Walker(client))
            finally: loop().run_until_complete(client.__aexit__(None, None, None))
    except Exception:
        traceback.print_exc()
        os._exit(1)
    finally:
        shutil.rmtree(HOME, ignore_errors=True)
        sys.stdout.flush()
    os._exit(0)
