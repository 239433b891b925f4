package pages

import (
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/services/gateway/internal/web/ask"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// command is a shell command that a reader copies. Credentials come from the environment of the shell.
type command struct{ Title, Text string }

// firstCommands are the ways to begin in an empty workspace.
func firstCommands(r *page.Request) []command {
	return []command{
		{"1. Run a flow", flowCommand(r)},
		{"2. Create a webhook", webhookCommand(r)},
		{"3. Post to it", postCommand(r)},
	}
}

// flowCommand runs a flow with the Python client.
func flowCommand(r *page.Request) string {
	environment := ""
	switch r.Server.Credential {
	case "key":
		environment = `PREFECT_API_KEY="$ORCH_API_KEY" `
	case "password":
		environment = `PREFECT_API_AUTH_STRING="$ORCH_API_KEY" `
	}
	return "pip install prefect\n" + environment + "PREFECT_API_URL=" + r.Server.API + ` python -c "from prefect import flow
@flow
def hello(): print('hello')
hello()"`
}

// webhookCommand creates a webhook.
func webhookCommand(r *page.Request) string {
	template := `{"event": "hello.{{ body.name }}", "resource": {"` + r.Server.Vocabulary.ResourceID() + `": "hello"}}`
	body := `{"name": "hello", "template": ` + string(jsontree.Text(template)) + `}`
	return ask.Call{Method: http.MethodPost, Path: "/webhooks/", Body: body}.Curl(r.Server.API, r.Server.Credential)
}

// postCommand posts to the first webhook.
func postCommand(r *page.Request) string {
	list := ask.Call{Method: http.MethodPost, Path: "/webhooks/filter", Body: "{}"}.Curl(r.Server.API, r.Server.Credential)
	return `curl -i -d '{"name": "world"}' "$(` + strings.Replace(list, "curl ", "curl -s ", 1) + ` | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["url"])')"`
}
