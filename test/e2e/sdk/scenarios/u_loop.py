"""(u) a signed GitHub push becomes an event, runs a deployment with a templated parameter on the stock worker, and its failure is told.

Ours only: the open Python server has no webhooks."""
from _lib import *
import hashlib, hmac, json, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId

SRC = f'''
from prefect import flow
@flow(name="scn-u-{UID}")
def ship(ref: str, n: int):
    print("shipping", ref, n)
    if n < 0: raise ValueError("negative")
    return n
'''
SECRET = "signing-secret"
told = []

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200); self.end_headers()
    def log_message(self, *args): pass

def push(url, n):
    body = json.dumps({"ref": "refs/heads/main", "n": n, "repository": {"full_name": f"org/{UID}"}})
    signature = hmac.new(SECRET.encode(), body.encode(), hashlib.sha256).hexdigest()
    out = subprocess.run(["curl", "-sS", "-o", os.devnull, "-w", "%{http_code}", "-X", "POST", url, "-H", "Content-Type: application/json",
                          "-H", "X-GitHub-Event: push", "-H", f"X-Hub-Signature-256: sha256={signature}", "-d", body], capture_output=True, text=True, check=True)
    return int(out.stdout)

def main():
    receiver = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    src = os.path.join(HOME, "src"); os.makedirs(src)
    open(os.path.join(src, "fl.py"), "w").write(SRC)
    pool = f"loop-{UID}"
    cli("work-pool", "create", pool, "--type", "process")
    with get_client(sync_client=True) as c:
        did = flow.from_source(source=src, entrypoint="fl.py:ship").deploy(name="loop", work_pool_name=pool, print_next_steps=False, ignore_warnings=True)
        def post(path, body):
            r = c._client.post(path, json=body); check(r.status_code in (200, 201), f"POST {path} {r.status_code} {r.text[:200] if r.status_code > 201 else ''}"); return r.json()
        hook = post("/webhooks/", {"name": f"gh-{UID}", "verification": {"scheme": "github", "secrets": [SECRET]}, "template":
            '{"event": "github.{{ headers["x-github-event"] }}", "resource": {"prefect.resource.id": "repo.{{ body.repository.full_name }}"}, "payload": {{ body | tojson }}}'})
        post("/automations/", {"name": f"ship {UID}", "trigger": {"type": "event", "posture": "Reactive", "expect": ["github.push"], "match": {"prefect.resource.id": f"repo.org/{UID}"}},
            "actions": [{"type": "run-deployment", "deployment_id": str(did), "parameters": {"ref": "{{ event.payload.ref | replace('refs/heads/', '') }}", "n": "{{ event.payload.n }}"}}]})
        types = c._client.get("/block_types/slug/slack-webhook").json()
        schema = post("/block_schemas/filter", {"block_schemas": {"block_type_id": {"any_": [types["id"]]}}})[0]
        block = post("/block_documents/", {"name": f"told-{UID}", "block_type_id": types["id"], "block_schema_id": schema["id"],
            "data": {"url": f"http://127.0.0.1:{receiver.server_port}/"}})
        post("/automations/", {"name": f"tell {UID}", "trigger": {"type": "event", "posture": "Reactive", "expect": ["prefect.flow-run.Failed"],
            "match_related": {"prefect.resource.id": f"prefect.deployment.{did}"}},
            "actions": [{"type": "send-notification", "block_document_id": block["id"], "subject": "Failed", "body": "{{ flow_run.parameters.n }} {{ flow_run.state.message }}"}]})
        spawn([sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type", "process"], PREFECT_WORKER_QUERY_SECONDS=1)
        wait_for(lambda: c.read_work_pool(pool).status.value == "READY", "pool READY")
        for n in (1, 2, -3): check(push(hook["url"], n) == 204, f"signed push {n} is accepted")
        mine = FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=[did]))
        def runs(): return c.read_flow_runs(flow_run_filter=mine)
        wait_for(lambda: len(runs()) == 3 and all(r.state.is_final() for r in runs()), "three runs that ended", every=1)
        got = {r.parameters["n"]: (r.state.name, r.parameters["ref"]) for r in runs()}
        check(got == {1: ("Completed", "main"), 2: ("Completed", "main"), -3: ("Failed", "main")}, f"one run per push, with typed parameters {got}")
        wait_for(lambda: told, "the notification")
        check(len(told) == 1 and "-3" in json.dumps(told[0]) and "negative" in json.dumps(told[0]), f"the failure is told once {told}")

if __name__ == "__main__": run(main)
