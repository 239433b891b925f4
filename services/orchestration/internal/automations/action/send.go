package action

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/tracing"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

// message is a request to another server.
type message struct {
	method, url string
	header      http.Header
	body        []byte
	// secret are the headers, by lower-case name, that the delivery log masks whatever their names.
	secret map[string]bool
	// publicOnly refuses addresses that are not public, also those that the server's settings permit.
	publicOnly bool
}

func newMessage(method, address string) *message {
	return &message{method: method, url: address, header: http.Header{}}
}

// json makes a value the body.
func (m *message) json(v any) *message {
	m.body, _ = json.Marshal(v) //nolint:errchkjson // It is built of texts, numbers, lists and objects.
	m.header.Set("Content-Type", "application/json")
	return m
}

// form makes values the body.
func (m *message) form(values url.Values) *message {
	m.body = []byte(values.Encode())
	m.header.Set("Content-Type", "application/x-www-form-urlencoded")
	return m
}

// answer is what another server answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request. Errors do not hold the address, which may be a secret.
func (r *Runner) send(ctx context.Context, m *message) (*answer, error) {
	target, err := url.Parse(m.url)
	if err != nil || (target.Scheme != "http" && target.Scheme != "https") || target.Host == "" {
		return nil, fmt.Errorf("the address is not one of http or https")
	}
	request, err := http.NewRequestWithContext(ctx, m.method, target.String(), bytes.NewReader(m.body))
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", withoutAddress(err))
	}
	request.Header = m.header
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "orch-automations")
	}
	tracing.SetHeader(ctx, request.Header)
	request.Header.Del("Tracestate") // Vendors' data about the trace is for this network.
	client := r.client
	if m.publicOnly {
		client = r.publicClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, m.explain(withoutAddress(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", withoutAddress(err))
	}
	return &answer{response.StatusCode, response.Header, body}, nil
}

// explain adds to a refused address which setting refuses it.
func (m *message) explain(err error) error {
	switch {
	case !errors.Is(err, safedial.ErrForbidden):
		return err
	case m.publicOnly:
		return fmt.Errorf("%w; the block allows no others (allow_private_urls)", err)
	}
	return fmt.Errorf("%w; ORCH_AUTOMATIONS_ALLOWED_NETWORKS permits others", err)
}

// withoutAddress is an error of net/http without the addresses that it quotes. That of the request may be a secret, and those that a
// name has, or the resolver's, belong to the operator's network.
func withoutAddress(err error) error {
	var unresolved *net.DNSError
	var operation *net.OpError
	var quoting *url.Error
	switch {
	case errors.Is(err, safedial.ErrForbidden):
		return safedial.ErrForbidden
	case errors.As(err, &unresolved) && unresolved.IsTimeout:
		return fmt.Errorf("resolve the name: %w", context.DeadlineExceeded)
	case errors.As(err, &unresolved):
		return errors.New("the name cannot be resolved")
	case errors.As(err, &operation):
		return fmt.Errorf("%s: %w", operation.Op, operation.Err)
	case errors.As(err, &quoting):
		return quoting.Err
	}
	return err
}

// forwarded are headers of answers that are not shown: they say how the answer came here.
var forwarded = []string{"authorization", "set-cookie", "traceparent", "via", "x-forwarded", "x-b3", "x-cloud-trace", "x-envoy"}

// shownHeaders returns the headers of a response for events and the delivery log, as valid UTF-8.
func shownHeaders(header http.Header) map[string]string {
	shown := map[string]string{}
	for name, values := range header {
		lower := strings.ToLower(name)
		hidden := false
		for _, prefix := range forwarded {
			hidden = hidden || strings.HasPrefix(lower, prefix)
		}
		if !hidden {
			shown[lower] = strings.ToValidUTF8(strings.Join(values, ", "), "\ufffd")
		}
	}
	return shown
}
