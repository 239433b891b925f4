package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// errRefused is a request that makes no event.
var errRefused = errors.New("the server rejected the request")

// trial is the request that a webhook is tried with.
type trial struct {
	method, query, path string
	headers             []string
	body                func() (string, bool, error)
	secret              func() (string, bool, error)
	sample              *webhookPreset // Its headers and its body are the defaults; nil for none.
	// verification is how requests are signed; nil leaves them unsigned.
	verification *orchv1.WebhookVerification
}

func webhookTestCommand(c *connection) *cobra.Command {
	var t trial
	cmd := &cobra.Command{
		Use:   "test WEBHOOK",
		Short: "Show what a request becomes, or send it",
		Long: `Show what the webhook's template, or a draft of it, makes of a request: the rendered text and the event, or the error
with its line. Nothing is published. With --send the request is posted to the webhook's address instead; --sign signs it as
the sender would, with the secret of --secret-file.`,
		Example: `  orch webhook test pushes --data-file push.json --header 'X-GitHub-Event: push'
  orch webhook test pushes --data-file push.json --template-file next.jinja
  orch webhook test pushes --sample "push to main"
  orch webhook test pushes --preset-sample github --sign --secret-file secret.txt --send`,
		Args: cobra.ExactArgs(1),
	}
	request := t.requestFlags(cmd)
	template := textFlag(cmd, "template", "t", "a draft of the template, to be tried without saving it")
	filter := textFlag(cmd, "filter", "", "a draft of the filter, to be tried without saving it; an empty one tries none")
	flags := cmd.Flags()
	send := flags.Bool("send", false, "post the request to the webhook")
	sign := flags.Bool("sign", false, "sign the request by the webhook's scheme")
	kept := flags.String("sample", "", "take the request from a sample of the webhook, by name or id")
	sample := flags.String("preset-sample", "", "take headers and body from the sample of a preset")
	t.secret = textFlag(cmd, "secret", "", "the secret to sign with; of two lines the first")
	cmd.MarkFlagsMutuallyExclusive("send", "template")
	cmd.MarkFlagsMutuallyExclusive("send", "template-file")
	cmd.MarkFlagsMutuallyExclusive("send", "filter")
	cmd.MarkFlagsMutuallyExclusive("send", "filter-file")
	for _, flag := range append(request, "send", "preset-sample") {
		cmd.MarkFlagsMutuallyExclusive("sample", flag)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *sign && !*send {
			return fmt.Errorf("%w: --sign needs --send: a dry run checks no signature", errArgument)
		}
		s, path, err := c.webhookOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		w, err := remote.Read[webhookSummary](cmd.Context(), s, http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		if *sample != "" {
			p, _, err := findPreset(cmd.Context(), s, *sample)
			if err != nil {
				return err
			}
			t.sample = &p
		}
		if *sign {
			if t.verification, err = readVerification(w); err != nil {
				return err
			}
		}
		if *send {
			return c.sendTrial(cmd, s, path, w, t)
		}
		body := map[string]any{}
		draft, given, err := template()
		if err != nil {
			return err
		}
		if given {
			body["template"], w.Template = draft, draft
		}
		if draft, given, err = filter(); err != nil {
			return err
		} else if given {
			body["filter"], w.Filter = draft, &draft
		}
		render := s.InWorkspace("/webhooks/render")
		if *kept != "" {
			if path, err = samplePath(cmd.Context(), s, path, *kept); err != nil {
				return err
			}
			render = path + "/render"
		} else {
			fields, err := t.fields()
			if err != nil {
				return err
			}
			maps.Copy(body, fields)
			body["template"], body["webhook_id"] = w.Template, w.ID
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, render, body)
		if err != nil {
			return err
		}
		return c.showRendering(cmd, answer, w)
	}
	return cmd
}

// sendTrial posts the request to the address of a webhook, and explains a refusal by the webhook's delivery log.
func (c *connection) sendTrial(cmd *cobra.Command, s *remote.Server, path string, w webhookSummary, t trial) error {
	if strings.HasSuffix(w.URL, webhookdef.MaskedSlug) {
		return fmt.Errorf("send to webhook %s: your role does not show its address", w.Name)
	}
	newest, err := newestDelivery(cmd.Context(), s, path)
	if err != nil {
		return err
	}
	status, err := t.send(cmd, c, w.URL)
	if err != nil || status < http.StatusBadRequest {
		return err
	}
	return c.showRefusal(cmd, s, path, newest, w)
}

// requestFlags adds the flags of a request, and returns their names.
func (t *trial) requestFlags(cmd *cobra.Command) []string {
	t.body = textFlag(cmd, "data", "", "the body of the request")
	flags := cmd.Flags()
	flags.StringVarP(&t.method, "method", "X", http.MethodPost, "the method of the request")
	flags.StringArrayVarP(&t.headers, "header", "H", nil, "a header, as Name: value; several may be given")
	flags.StringVar(&t.query, "query", "", "the query string, without the question mark")
	flags.StringVar(&t.path, "path", "", "what follows the address")
	return []string{"data", "data-file", "method", "header", "query", "path"}
}

// header reads the headers; a body that is JSON and has no type gets that of JSON.
func (t *trial) header(body string) (http.Header, error) {
	header := http.Header{}
	for _, line := range t.headers {
		name, value, err := headerOf("header", line)
		if err != nil {
			return nil, err
		}
		header.Add(name, value)
	}
	if t.sample != nil {
		for name, value := range t.sample.Sample.Headers {
			if header.Get(name) == "" {
				header.Set(name, value)
			}
		}
	}
	if header.Get("Content-Type") == "" && json.Valid([]byte(body)) {
		header.Set("Content-Type", "application/json")
	}
	return header, nil
}

// request returns body and headers, of the flags or else of the sample.
func (t *trial) request() (body string, header http.Header, err error) {
	body, given, err := t.body()
	if err != nil {
		return "", nil, err
	}
	if !given && t.sample != nil {
		body = t.sample.Sample.Body
	}
	header, err = t.header(body)
	return body, header, err
}

// fields is the request in the form of the API.
func (t *trial) fields() (map[string]any, error) {
	body, header, err := t.request()
	if err != nil {
		return nil, err
	}
	flat := map[string]string{}
	for name, values := range header {
		flat[name] = strings.Join(values, ", ")
	}
	return map[string]any{"method": strings.ToUpper(t.method), "headers": flat, "body": body, "query": t.query, "path": t.path}, nil
}

// send posts the request as its sender would, and returns the status of the response.
func (t *trial) send(cmd *cobra.Command, c *connection, address string) (int, error) {
	body, header, err := t.request()
	if err != nil {
		return 0, err
	}
	target, err := url.Parse(address)
	if err != nil {
		return 0, fmt.Errorf("read the webhook's address: %w", err)
	}
	if t.path != "" {
		target = target.JoinPath(t.path)
	}
	target.RawQuery = t.query
	request, err := http.NewRequestWithContext(cmd.Context(), strings.ToUpper(t.method), target.String(), nil)
	if err != nil {
		return 0, fmt.Errorf("make the request: %w", err)
	}
	request.Header = header
	if body, err = t.sign(request, body); err != nil {
		return 0, err
	}
	request.Body, request.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	client := &http.Client{Timeout: requestTimeout}
	response, err := client.Do(request)
	if err != nil {
		// The error of the client would show the address, which is a secret.
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		return 0, fmt.Errorf("post to the webhook: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return 0, fmt.Errorf("read the webhook's answer: %w", err)
	}
	c.say(cmd, "%s", response.Status)
	if len(answer) > 0 {
		c.say(cmd, "%s", answer)
	}
	return response.StatusCode, nil
}

// rendering is what a template made of a request.
type rendering struct {
	Rendered *string          `json:"rendered"`
	Event    json.RawMessage  `json:"event"`
	Events   json.RawMessage  `json:"events"`
	Error    *renderingError  `json:"error"`
	Warnings []renderingError `json:"warnings"`
	Filtered bool             `json:"filtered"`

	Response *renderedResponse `json:"response"`
}

// renderingError is an error of a template or of its output.
type renderingError struct {
	Message string `json:"message"`
	Stage   string `json:"stage"`
	Line    *int   `json:"line"`
	Column  *int   `json:"column"`
}

// placed puts the position of an error before its message: "line 4, column 117: body.device has no name".
func placed(message string, line, column *int) string {
	switch {
	case line == nil:
		return message
	case column == nil:
		return fmt.Sprintf("line %d: %s", *line, message)
	}
	return fmt.Sprintf("line %d, column %d: %s", *line, *column, message)
}

// sourceLine shows a line of a text with a mark under a column; empty if the text has no such line.
func sourceLine(text string, line, column *int) string {
	lines := strings.Split(text, "\n")
	if line == nil || *line < 1 || *line > len(lines) {
		return ""
	}
	number := fmt.Sprintf("%5d | ", *line)
	out := number + printable(strings.ReplaceAll(lines[*line-1], "\t", " ")) + "\n"
	if column != nil && *column > 0 {
		out += strings.Repeat(" ", len(number)+*column-1) + "^\n"
	}
	return out
}

// showRendering shows what a webhook, or a draft of it, makes of a request.
func (c *connection) showRendering(cmd *cobra.Command, answer json.RawMessage, w webhookSummary) error {
	r, err := remote.Decode[rendering](answer)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case c.output == outputJSON:
		if err := printJSON(out, answer); err != nil {
			return err
		}
	case r.Filtered:
		fmt.Fprintln(out, "The filter, or an empty list, drops the request: it gets 204 and causes no event.")
	case r.Error == nil:
		event := r.Event
		if len(r.Events) > 0 && string(r.Events) != "null" {
			event = r.Events
		}
		if err := printJSON(out, event); err != nil {
			return err
		}
	case r.Rendered != nil:
		fmt.Fprintf(out, "The template rendered:\n%s\n", bytes.TrimSpace([]byte(*r.Rendered)))
	}
	for _, warning := range r.Warnings {
		printWarning(cmd, warning, w.Template)
	}
	c.sayResponse(cmd, r.Response)
	if r.Error == nil {
		return nil
	}
	if c.output != outputJSON {
		fmt.Fprint(out, sourceLine(w.sourceOf(r.Error.Stage, r.Rendered), r.Error.Line, r.Error.Column))
	}
	if r.Filtered {
		c.say(cmd, "The filter failed: %s", placed(r.Error.Message, r.Error.Line, r.Error.Column))
		return nil
	}
	return fmt.Errorf("%w: %s: %s", errRefused, r.Error.Stage, placed(r.Error.Message, r.Error.Line, r.Error.Column))
}
