package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/redact"
)

// Timeout bounds an exchange of a client of the server.
const Timeout = 30 * time.Second

// MaxResponse bounds the bytes that are read of the body of a response.
const MaxResponse = 64 << 10

// MaxShown bounds the characters of a response's body that logs and events show.
const MaxShown = 1000

// The reasons of exchanges that failed.
const (
	ReasonAddress    = "address" // The server may not connect to it.
	ReasonConnection = "connection"
	ReasonTimeout    = "timeout"
	ReasonStatus     = "status"
)

// Client sends messages.
type Client struct {
	agent   string
	dial    safedial.Policy
	proxies Proxies
	timeout time.Duration
	http    *http.Client
	// public connects to public addresses alone, whatever the policy permits.
	public *http.Client
}

// NewClient returns a client that connects to addresses of a policy, and to proxies. Timeout bounds each exchange; agent is the User-Agent
// of messages that have none.
func NewClient(dial safedial.Policy, proxies Proxies, agent string, timeout time.Duration) *Client {
	return &Client{agent: agent, dial: dial, proxies: proxies, timeout: timeout, http: dial.Client(timeout), public: safedial.Policy{}.Client(timeout)}
}

// Response is the response of another system.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	// secrets are texts of the request. Pages of errors quote requests.
	secrets []string
}

// masked returns a text of the response without the secrets of the request.
func (r *Response) masked(text string) string {
	return redact.Own(&receive.Request{Secrets: r.secrets}, text)
}

// ShownBody returns the beginning of the body as text, without the secrets of the request.
func (r *Response) ShownBody() string {
	shown := []rune(r.masked(string(r.Body)))
	return strings.ToValidUTF8(string(shown[:min(len(shown), MaxShown)]), "\ufffd")
}

// forwarded are headers of responses that are not shown: they describe the route of the response.
var forwarded = []string{"authorization", "set-cookie", "traceparent", "via", "x-forwarded", "x-b3", "x-cloud-trace", "x-envoy"}

// ShownHeaders returns the headers of a response for events and logs, by lower-case name, as valid UTF-8, without the secrets of the request.
func (r *Response) ShownHeaders() map[string]string {
	shown := map[string]string{}
	for name, values := range r.Header {
		lower := strings.ToLower(name)
		hidden := false
		for _, prefix := range forwarded {
			hidden = hidden || strings.HasPrefix(lower, prefix)
		}
		if !hidden {
			shown[lower] = strings.ToValidUTF8(r.masked(strings.Join(values, ", ")), "\ufffd")
		}
	}
	return shown
}

// secrets returns the texts of a message that logs must not show: the values of secret headers, and what follows the host in the address.
func (m *Message) secrets() (all []string) {
	if target, err := url.Parse(m.URL); err == nil {
		all = append(all, target.RequestURI(), target.Path)
	}
	for name, secret := range m.secret {
		if secret {
			for _, value := range m.Header.Values(name) {
				_, credential, _ := strings.Cut(value, " ") // Behind the scheme of Authorization.
				all = append(all, value, credential)
			}
		}
	}
	return all
}

// ErrAddress means that an address is not one of http or https with a host.
var ErrAddress = errors.New("the address is not one of http or https")

// CheckAddress returns ErrAddress unless messages can be sent to an address.
func CheckAddress(address string) error {
	target, err := url.Parse(address)
	if err != nil || (target.Scheme != "http" && target.Scheme != "https") || target.Host == "" {
		return ErrAddress
	}
	return nil
}

// Send sends a message. Errors do not contain the address, which may be a secret.
func (c *Client) Send(ctx context.Context, m *Message) (*Response, error) {
	if err := CheckAddress(m.URL); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, m.Method, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", withoutAddress(err))
	}
	request.Header = m.Header
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", c.agent)
	}
	tracing.SetHeader(ctx, request.Header)
	request.Header.Del("Tracestate") // Vendors' data about the trace is for this network.
	client := c.http
	switch {
	case m.PublicOnly:
		client = c.public
	case !m.Route.zero():
		if client, err = c.through(ctx, &m.Route, m.URL); err != nil {
			return nil, m.explain(withoutAddress(err))
		}
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, m.explain(withoutAddress(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxResponse))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", withoutAddress(err))
	}
	return &Response{response.StatusCode, response.Header, body, m.secrets()}, nil
}

// Reason returns why there is no response.
func Reason(err error) string {
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, safedial.ErrForbidden), errors.Is(err, ErrProxy):
		return ReasonAddress
	case errors.Is(err, context.DeadlineExceeded), isNet && timeout.Timeout():
		return ReasonTimeout
	}
	return ReasonConnection
}

// explain adds to a refused address which setting refuses it.
func (m *Message) explain(err error) error {
	switch {
	case !errors.Is(err, safedial.ErrForbidden):
		return err
	case m.PublicOnly:
		return fmt.Errorf("%w; the block allows no others (allow_private_urls)", err)
	}
	return fmt.Errorf("%w; ORCH_AUTOMATIONS_ALLOWED_NETWORKS permits others", err)
}

// withoutAddress is an error of net/http without the addresses that it quotes. The address of the request may be a secret; the
// addresses of a name and of the resolver belong to the operator's network.
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
		return fmt.Errorf("%s: %w", operation.Op, withoutAddress(operation.Err)) // With a proxy there is another one in it.
	case errors.As(err, &quoting):
		return quoting.Err
	}
	return err
}
