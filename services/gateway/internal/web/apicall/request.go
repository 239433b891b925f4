package apicall

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/orch-project/orch/pkg/quickstart"
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
	return quickstart.Server{API: api, Credential: quickstart.Credential(credential)}.Curl(c.Method, c.Path, c.Body)
}
