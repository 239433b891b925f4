// Package quickstart words the first commands of a new server, for the dashboard and the start banner. They fit the
// server's vocabulary and authentication; `make e2e-first-contact` runs them as they are shown.
package quickstart

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Credential is what a server requires of its clients.
type Credential string

// The credentials.
const (
	None     Credential = ""
	Password Credential = "password"
	Key      Credential = "key"
)

// Variable is the environment variable from which commands take a credential: an API key, or user:password.
const Variable = "ORCH_API_KEY"

// Server is what the commands need to know of a server.
type Server struct {
	// API is the address of the API without a workspace, such as "http://127.0.0.1:4200/api".
	API string
	// Account and Workspace are those of an API key; nil UUIDs mean the defaults.
	Account, Workspace uuid.UUID
	Vocabulary         vocabulary.Vocabulary
	Credential         Credential
	// Secret is the credential as a shell reads it between double quotes; empty means the environment variable Variable.
	Secret string
}

// ServesPrefect reports whether Prefect's clients can use the server, be it that they decide its vocabulary.
func (s Server) ServesPrefect() bool { return s.Vocabulary != vocabulary.Orch }

func (s Server) secret() string { return cmp.Or(s.Secret, "$"+Variable) }

// Environment returns the settings of Prefect's clients, as variables before a command. Every version of them sends a credential over
// websockets only below PREFECT_CLOUD_API_URL; those from 3.4 on also send PREFECT_API_AUTH_STRING.
func (s Server) Environment() string {
	switch s.Credential {
	case Key:
		account, workspace := cmp.Or(s.Account, request.DefaultAccount), cmp.Or(s.Workspace, request.DefaultWorkspace)
		return fmt.Sprintf("PREFECT_CLOUD_API_URL=%s PREFECT_API_URL=%s/accounts/%s/workspaces/%s PREFECT_API_KEY=\"%s\"",
			s.API, s.API, account, workspace, s.secret())
	case Password:
		return fmt.Sprintf("PREFECT_CLOUD_API_URL=%s PREFECT_API_URL=%s PREFECT_API_KEY=\"%s\"", s.API, s.API, s.secret())
	}
	return "PREFECT_API_URL=" + s.API
}

// Flow returns the commands that run a flow with one task by Prefect's client.
func (s Server) Flow() string {
	return "pip install prefect\n" + s.Environment() + ` python -c "from prefect import flow, task
@task
def greet(): print('hello')
@flow
def hello(): greet()
hello()"`
}

// Worker returns the command that starts a worker of a work pool by Prefect's client.
func (s Server) Worker(pool string) string {
	return s.Environment() + " prefect worker start --pool " + Quote(pool)
}

// Curl returns a call of the API as a command; the body is JSON, empty for none.
func (s Server) Curl(method, path, body string) string {
	var b strings.Builder
	b.WriteString("curl")
	if method != http.MethodGet && (method != http.MethodPost || body == "") {
		b.WriteString(" -X " + method)
	}
	b.WriteString(" " + Quote(s.API+path))
	switch s.Credential {
	case Password:
		b.WriteString(` -u "` + s.secret() + `"`)
	case Key:
		b.WriteString(` -H "Authorization: Bearer ` + s.secret() + `"`)
	}
	if body != "" {
		b.WriteString(" -H 'Content-Type: application/json' -d " + Quote(body))
	}
	return b.String()
}

// Quote returns a text as a word of a shell.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Advice says which clients the server serves, and what serves the others; empty for a server that Prefect's clients use.
func (s Server) Advice() string {
	switch s.Vocabulary {
	case vocabulary.Prefect:
		return ""
	case vocabulary.Undecided:
		return "The first client that writes decides the vocabulary: Prefect's clients make it prefect, all others orch. --vocabulary names one at the start."
	}
	return fmt.Sprintf("This server has the vocabulary orch and refuses Prefect's clients. To serve them, stop it and run `%s`, or start it on fresh data with `orch server --vocabulary prefect`.",
		s.Vocabulary.Remedy())
}
