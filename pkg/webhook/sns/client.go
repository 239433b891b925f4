package sns

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/safedial"
)

// ErrUnavailable is wrapped when SNS did not respond as expected. A later attempt may succeed.
var ErrUnavailable = errors.New("fetch from Amazon SNS")

const (
	// fetchTimeout bounds one request; SNS itself waits 15 s for the response to a message.
	fetchTimeout = 5 * time.Second
	// maxResponse bounds a response, in bytes. A certificate has about 2,000.
	maxResponse = 64 << 10
	// maxFetches bounds the concurrent requests.
	maxFetches = 4
	// maxCertificates bounds the cached certificates: some 40 regions, with an old and a new one each.
	maxCertificates = 128
	// certificateTTL is how long a certificate is cached.
	certificateTTL = 24 * time.Hour
	// maxFailures bounds the cached failures, and failureTTL how long one is cached.
	maxFailures = 256
	failureTTL  = 10 * time.Second
)

// Options configure a Client.
type Options struct {
	// Hosts are hosts, with an optional port, that count as hosts of SNS: those of a private partition or of an emulator.
	Hosts []string
	// Policy permits addresses that are not public.
	Policy safedial.Policy
	// Roots are the certificate authorities of connections and of signing certificates; nil means the system's.
	Roots *x509.CertPool
	// Clock times the caches; nil means the machine's.
	Clock clock.Clock
}

// Client fetches certificates and confirms subscriptions. It is safe for concurrent use.
type Client struct {
	opts    Options
	http    *http.Client
	flights singleflight.Group
	slots   chan struct{}

	mu           sync.Mutex
	certificates map[string]cached
	failures     map[string]cached
}

// cached is the outcome of a fetch.
type cached struct {
	certificate *x509.Certificate
	err         error
	until       time.Time
}

// NewClient returns a client.
func NewClient(o Options) *Client {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	client := o.Policy.Client(fetchTimeout)
	if transport, ok := client.Transport.(*http.Transport); ok {
		transport.TLSClientConfig = &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	}
	return &Client{
		opts: o, http: client, slots: make(chan struct{}, maxFetches),
		certificates: map[string]cached{}, failures: map[string]cached{},
	}
}

// Certificate returns the certificate at a SigningCertURL, from the cache or from SNS. Errors wrap ErrForeign or
// ErrUnavailable.
func (c *Client) Certificate(ctx context.Context, address string) (*x509.Certificate, error) {
	u, err := check(address, c.opts.Hosts)
	if err != nil {
		return nil, fmt.Errorf("SigningCertURL: %w", err)
	}
	if !strings.HasSuffix(u.Path, ".pem") || u.RawQuery != "" {
		return nil, fmt.Errorf("SigningCertURL: %w: it does not name a .pem file", ErrForeign)
	}
	key := u.String()
	if cached, ok := c.lookup(key); ok {
		return cached.certificate, cached.err
	}
	found, err, _ := c.flights.Do(key, func() (any, error) {
		if cached, ok := c.lookup(key); ok {
			return cached.certificate, cached.err
		}
		// The caller that leads must not end the fetch of the others.
		certificate, err := c.fetch(context.WithoutCancel(ctx), u)
		if err = c.remember(key, certificate, err); err != nil {
			return nil, err
		}
		return certificate, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*x509.Certificate), nil
}

// Confirm confirms a subscription by its SubscribeURL. Errors wrap ErrForeign or ErrUnavailable, and do not show the URL,
// whose token is a credential.
func (c *Client) Confirm(ctx context.Context, address string) error {
	u, err := check(address, c.opts.Hosts)
	if err != nil {
		return fmt.Errorf("SubscribeURL: %w", err)
	}
	if u.Query().Get("Action") != "ConfirmSubscription" {
		return fmt.Errorf("SubscribeURL: %w: its Action is not ConfirmSubscription", ErrForeign)
	}
	if _, err := c.get(ctx, u.String()); err != nil {
		return fmt.Errorf("confirm subscription: %w", err)
	}
	return nil
}

// fetch returns a signing certificate. A certificate from a host of SNS must be for SNS and chain to a public root; an additional host is
// trusted by its name.
func (c *Client) fetch(ctx context.Context, address *url.URL) (*x509.Certificate, error) {
	response, err := c.get(ctx, address.String())
	if err != nil {
		return nil, fmt.Errorf("fetch signing certificate: %w", err)
	}
	certificates, err := parseCertificates(response.body)
	if err != nil {
		return nil, fmt.Errorf("fetch signing certificate: %w", err)
	}
	signing := certificates[0]
	if name := strings.ToLower(address.Host); host.MatchString(name) && !c.isAdditional(name) {
		t := trust{roots: c.opts.Roots, fetch: func(ctx context.Context, address string) ([]byte, error) {
			response, err := c.get(ctx, address)
			return response.body, err
		}}
		// The connection often has the same issuer.
		beside := append(certificates[1:], response.peers...)
		if err := t.check(ctx, name, signing, beside, c.opts.Clock.Now()); err != nil {
			return nil, fmt.Errorf("SigningCertURL: %w", err)
		}
	}
	return signing, nil
}

func (c *Client) isAdditional(name string) bool {
	return slices.ContainsFunc(c.opts.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// fetched is the body of a response, and the certificates of its connection.
type fetched struct {
	body  []byte
	peers []*x509.Certificate
}

// get returns the body of a 200 response.
func (c *Client) get(ctx context.Context, address string) (fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return fetched{}, fmt.Errorf("%w: too many requests at a time", ErrUnavailable)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fetched{}, fmt.Errorf("%w: build request", ErrUnavailable)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // Without the URL.
		}
		return fetched{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fetched{}, fmt.Errorf("%w: status %d", ErrUnavailable, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return fetched{}, fmt.Errorf("%w: read response: %w", ErrUnavailable, err)
	}
	if len(body) > maxResponse {
		return fetched{}, fmt.Errorf("%w: the response exceeds %d bytes", ErrUnavailable, maxResponse)
	}
	answer := fetched{body: body}
	if response.TLS != nil {
		answer.peers = response.TLS.PeerCertificates
	}
	return answer, nil
}
