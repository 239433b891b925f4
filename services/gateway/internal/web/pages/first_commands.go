package pages

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/quickstart"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// command is a shell command that a reader copies. Credentials come from the environment of the shell.
type command struct{ Title, Text string }

// firstSteps are the ways to begin in an empty workspace.
type firstSteps struct {
	// Advice says which clients the server serves, empty if there is nothing to say.
	Advice   string
	Commands []command
}

// clientCommands words the commands of Prefect's client for the workspace of a page.
func clientCommands(r *page.Request) quickstart.Server {
	return quickstart.Server{
		API: r.Server.Root + "/api", Vocabulary: r.Server.Vocabulary, Credential: quickstart.Credential(r.Server.Credential),
		Account: uuid.MustParse(r.Account), Workspace: uuid.MustParse(r.Workspace),
	}
}

// newFirstSteps returns the commands that work on the server as it is.
func newFirstSteps(r *page.Request) *firstSteps {
	server := clientCommands(r)
	steps := &firstSteps{Advice: server.Advice()}
	add := func(title, text string) {
		steps.Commands = append(steps.Commands, command{strconv.Itoa(len(steps.Commands)+1) + ". " + title, text})
	}
	if server.ServesPrefect() {
		add("Run a flow", server.Flow())
	}
	add("Create a webhook", webhookCommand(r))
	add("Post to it", postCommand(r))
	return steps
}

// webhookCommand creates a webhook. On an undecided server it names Prefect's API version, so that it decides as the
// command before it does.
func webhookCommand(r *page.Request) string {
	vocab, header := r.Server.Vocabulary, ""
	if !vocab.Decided() {
		vocab = vocabulary.Prefect
		header = " -H '" + vocab.VersionHeader() + ": " + vocabulary.APIVersion + "'"
	}
	template := `{"event": "hello.{{ body.name }}", "resource": {"` + vocab.ResourceID() + `": "hello"}}`
	body := `{"name": "hello", "template": ` + string(jsontree.Text(template)) + `}`
	return apicall.Request{Method: http.MethodPost, Path: "/webhooks/", Body: body}.Curl(r.Server.API, r.Server.Credential) + header
}

// postCommand posts to the first webhook.
func postCommand(r *page.Request) string {
	list := apicall.Request{Method: http.MethodPost, Path: "/webhooks/filter", Body: "{}"}.Curl(r.Server.API, r.Server.Credential)
	return `curl -i -d '{"name": "world"}' "$(` + strings.Replace(list, "curl ", "curl -s ", 1) + ` | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["url"])')"`
}
