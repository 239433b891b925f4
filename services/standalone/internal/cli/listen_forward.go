package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/redact"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

const (
	// deliveryIDHeader is the header of a forwarded request with the id of its delivery.
	deliveryIDHeader = "Orch-Delivery-Id"
	// forwardTimeout bounds one forwarded request.
	forwardTimeout = 30 * time.Second
	// maxForwardAnswer bounds the shown part of an answer, in bytes.
	maxForwardAnswer = 4 << 10
)

// listened is a delivery that a listener received, or the message that begins the deliveries.
type listened struct {
	id       string
	received time.Time       // Of the delivery, or the time of the server at the beginning.
	text     json.RawMessage // The delivery as the API has it.
	summary  delivery
	logged   *orchv1.WebhookDelivery // Nil for the beginning.
	// why is the reason for which it cannot be forwarded; empty if it can.
	why string
}

// decodeListened reads a message of the server.
func decodeListened(text json.RawMessage) (*listened, error) {
	message, err := remote.Decode[struct {
		Type     string          `json:"type"`
		Since    time.Time       `json:"since"`
		Delivery json.RawMessage `json:"delivery"`
		Body     []byte          `json:"raw_body"`
	}](text)
	if err != nil {
		return nil, err
	}
	if message.Type == "listening" {
		return &listened{received: message.Since}, nil
	}
	d := &listened{text: message.Delivery, logged: &orchv1.WebhookDelivery{}}
	if d.summary, err = remote.Decode[delivery](message.Delivery); err != nil {
		return nil, err
	}
	if err := restjson.Unmarshal(message.Delivery, d.logged); err != nil {
		return nil, fmt.Errorf("decode delivery: %w", err)
	}
	d.logged.RawBody = message.Body
	d.id, d.received, d.why = d.summary.ID, d.summary.Received, deliverylog.NotReplayable(d.logged)
	return d, nil
}

// request is the request of the delivery, as far as the log has it.
func (d *listened) request() *receive.Request { return deliverylog.Request(d.logged) }

// forwarder sends deliveries to a program.
type forwarder struct {
	address *url.URL
	client  *http.Client
	trial   trial // Signs the requests.
}

// newForwarder returns a forwarder that signs requests by the scheme of a webhook if there is a secret.
func newForwarder(address string, w webhookSummary, secret func() (string, bool, error)) (*forwarder, error) {
	target, err := forwardAddress(address)
	if err != nil {
		return nil, err
	}
	f := &forwarder{address: target, client: &http.Client{
		Timeout:       forwardTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	text, given, err := secret()
	if err != nil || !given {
		return f, err
	}
	if w.ID == "" {
		return nil, fmt.Errorf("%w: --secret needs a webhook, whose scheme signs the requests", errArgument)
	}
	f.trial.secret = func() (string, bool, error) { return text, true, nil }
	f.trial.verification, err = readVerification(w)
	return f, err
}

// unforwarded are headers of the connection on which the request arrived, and those that the body no longer has: it is decompressed.
var unforwarded = []string{
	"accept-encoding", "connection", "content-encoding", "content-length", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
}

// build returns the request for the program.
func (f *forwarder) build(ctx context.Context, d *listened) (*http.Request, error) {
	target := *f.address
	if d.logged.GetPath() != "" {
		target = *target.JoinPath(d.logged.GetPath())
	}
	target.RawQuery = d.logged.GetQuery()
	r, err := http.NewRequestWithContext(ctx, d.logged.GetMethod(), target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForward, err)
	}
	for name, value := range d.logged.GetHeaders() {
		if value != redact.Mask && !slices.Contains(unforwarded, name) {
			r.Header.Set(name, value)
		}
	}
	body, err := f.trial.sign(r, string(d.logged.GetRawBody()))
	if err != nil {
		return nil, err
	}
	r.Header.Set(deliveryIDHeader, d.id)
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	if body == "" {
		r.Body = http.NoBody
	}
	return r, nil
}

// send forwards a delivery and shows the answer. A program that does not run is shown, and is no error: the next delivery
// may reach it.
func (f *forwarder) send(ctx context.Context, l *listenSession, d *listened) error {
	r, err := f.build(ctx, d)
	if err != nil {
		return err
	}
	start := time.Now()
	response, err := f.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.say(l.cmd, "  %s", colored(l.cmd.OutOrStdout(), red, printable("failed to forward: "+err.Error())))
		return nil
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxForwardAnswer+1))
	if err != nil {
		l.say(l.cmd, "  %s", colored(l.cmd.OutOrStdout(), red, printable("failed to read the answer: "+err.Error())))
		return nil
	}
	line := fmt.Sprintf("  %s in %s", response.Status, time.Since(start).Round(time.Millisecond))
	if response.StatusCode >= http.StatusBadRequest {
		line = colored(l.cmd.OutOrStdout(), red, line)
	}
	l.say(l.cmd, "%s", line)
	if text, cut := redact.Cut(string(bytes.TrimSpace(answer)), maxForwardAnswer); text != "" {
		if cut {
			text += "…"
		}
		l.say(l.cmd, "  %s", printable(text))
	}
	return nil
}
