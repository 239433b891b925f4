package cli

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// responseFlags are the fields of the response of a webhook that create and update set.
type responseFlags struct {
	cmd     *cobra.Command
	body    func() (string, bool, error)
	status  int
	headers []string
	none    bool
}

func newResponseFlags(cmd *cobra.Command) *responseFlags {
	f := &responseFlags{cmd: cmd}
	f.body = textFlag(cmd, "response-body", "", "the Jinja2 template of the body that senders receive in place of an empty 204")
	flags := cmd.Flags()
	flags.IntVar(&f.status, "response-status", http.StatusOK, "the status that senders receive: 200, 201, 202 or 204")
	flags.StringArrayVar(&f.headers, "response-header", nil, "a header that senders receive, as Name: template; several may be given")
	return f
}

// set sets the response in the body of a request, if a flag says so. The flags describe the whole response.
func (f *responseFlags) set(body map[string]any) error {
	text, given, err := f.body()
	if err != nil {
		return err
	}
	headers := map[string]string{}
	for _, line := range f.headers {
		name, value, err := headerOf("response-header", line)
		if err != nil {
			return err
		}
		if _, twice := headers[name]; twice {
			return fmt.Errorf("%w: --response-header names %s twice", errArgument, name)
		}
		headers[name] = value
	}
	switch changed := f.cmd.Flags().Changed; {
	case f.none:
		body["response"] = nil
	case given, changed("response-status"), changed("response-header"):
		body["response"] = map[string]any{"status": f.status, "headers": headers, "body": text}
	}
	return nil
}

// headerOf reads a header of a flag.
func headerOf(flag, line string) (name, value string, err error) {
	name, value, ok := strings.Cut(line, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return "", "", fmt.Errorf("%w: --%s is like 'Content-Type: application/json', not %q", errArgument, flag, line)
	}
	return name, strings.TrimSpace(value), nil
}

// completeResponse sets the defaults of the response in a file of webhooks, so that it compares with the one of the server.
func completeResponse(w map[string]any) {
	response, ok := w["response"].(map[string]any)
	if !ok {
		return
	}
	for name, value := range map[string]any{"status": http.StatusOK, "headers": map[string]any{}, "body": ""} {
		if response[name] == nil {
			response[name] = value
		}
	}
}

// renderedResponse is what the response of a webhook made of a request.
type renderedResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Error   *renderingError   `json:"error"`
}

// sayResponse shows what a sender receives by the response of a webhook; nil is none.
func (c *connection) sayResponse(cmd *cobra.Command, r *renderedResponse) {
	if r == nil {
		return
	}
	out := cmd.OutOrStdout()
	if r.Error != nil {
		c.say(cmd, "\n%s", colored(out, red, printable("The response failed, so the sender receives 204: "+placed(r.Error.Message, r.Error.Line, r.Error.Column))))
		return
	}
	c.say(cmd, "\nThe sender receives %d %s", r.Status, http.StatusText(r.Status))
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		c.say(cmd, "%s: %s", cell(name, out), cell(r.Headers[name], out))
	}
	if r.Body != "" {
		c.say(cmd, "\n%s", printable(r.Body))
	}
}
