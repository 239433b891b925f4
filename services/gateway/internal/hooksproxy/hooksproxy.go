// Package hooksproxy forwards webhook requests to the hooks service, so that API and webhooks share one address.
//
// Signatures cover the request's bytes, and templates see its headers. So the proxy keeps the Host, the query's
// notation and the body unchanged. It removes hop-by-hop headers and appends the client to X-Forwarded-For.
package hooksproxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/tlsfiles"
	"github.com/orch-project/orch/pkg/tracing"
)

// Proxy forwards requests to the hooks service.
type Proxy struct {
	proxy     httputil.ReverseProxy
	transport *http.Transport
}

// New returns a proxy to the hooks service at an address such as "127.0.0.1:4201" or "https://hooks:4201". The files are the
// certificate for an https address and the CA of the service; nil means the CAs of the system.
func New(target string, files *tlsfiles.Files, log *slog.Logger) (*Proxy, error) {
	// "https://hooks" would parse as host "https" and port "//hooks".
	if _, _, err := net.SplitHostPort(target); err == nil && !strings.Contains(target, "://") {
		target = "http://" + target
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("parse the address of the hooks service %q: expected host:port or http://host:port", target)
	}
	p := &Proxy{transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       30 * time.Second, // Shorter than the hooks service's own timeout, so the proxy closes idle connections first.
		ResponseHeaderTimeout: 30 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}}
	if files != nil {
		p.transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}, Config: files.Client(u.Hostname())}
			return dialer.DialContext(ctx, network, address)
		}
	}
	p.proxy = httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host = u.Scheme, u.Host
			pr.Out.URL.RawQuery = pr.In.URL.RawQuery
			pr.Out.Host = pr.In.Host
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if values, ok := pr.In.Header[name]; ok {
					pr.Out.Header[name] = values
				}
			}
			tracing.SetHeader(pr.In.Context(), pr.Out.Header)
			if peer, _, err := net.SplitHostPort(pr.In.RemoteAddr); err == nil {
				values := pr.In.Header["X-Forwarded-For"]
				pr.Out.Header["X-Forwarded-For"] = append(values[:len(values):len(values)], peer)
			}
		},
		Transport:     p.transport,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if errors.Is(err, context.Canceled) {
				w.WriteHeader(499) // The client has disconnected.
				return
			}
			// The error contains the hooks service's address, never the path.
			log.WarnContext(r.Context(), "failed to forward a webhook request", "error", err)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	}
	return p, nil
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.proxy.ServeHTTP(w, r) }

// Close closes idle connections.
func (p *Proxy) Close() { p.transport.CloseIdleConnections() }
