package apicall

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

// Request is a call as a client makes it over REST.
type Request struct {
	Method string
	// Path is below the API's address.
	Path string
	// Body is compact JSON, empty for none.
	Body string
	// Global operations belong to an account or user, so their path is never below that of a workspace.
	Global bool
}

func (c Request) compare(other Request) int {
	return cmp.Or(strings.Compare(c.Path, other.Path), strings.Compare(c.Method, other.Method), strings.Compare(c.Body, other.Body))
}

// JSON returns the body indented for people.
func (c Request) JSON() string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(c.Body), "", "  ") != nil {
		return c.Body
	}
	return out.String()
}

// Curl returns the call as a shell command. The API's address has no trailing slash. The credential is what the server
// requires: "" (nothing), "password" or "key". The command reads it from the environment, so it holds no secret.
func (c Request) Curl(api, credential string) string {
	var b strings.Builder
	b.WriteString("curl")
	if c.Method != http.MethodGet && (c.Method != http.MethodPost || c.Body == "") {
		b.WriteString(" -X " + c.Method)
	}
	b.WriteString(" " + quote(api+c.Path))
	switch credential {
	case "password":
		b.WriteString(` -u "$ORCH_API_KEY"`) // As the command line has it: user:password.
	case "key":
		b.WriteString(` -H "Authorization: Bearer $ORCH_API_KEY"`)
	}
	if c.Body != "" {
		b.WriteString(" -H 'Content-Type: application/json' -d " + quote(c.Body))
	}
	return b.String()
}

// quote quotes a word for a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
