// Package hooksproxy passes webhooks on to the hooks service, so that API and webhooks share one address.
//
// Webhooks are signed over their bytes, and templates see their headers. So the request is passed on as it came: the
// Host, the query's spelling, the body as a stream. Only hop-by-hop headers go, and X-Forwarded-For grows by the peer.
package hooksproxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// Proxy passes requests on.
type Proxy struct {
	proxy     httputil.ReverseProxy
	transport *http.Transport
}

// New returns a proxy to the hooks service at an address such as "127.0.0.1:4201" or "http://hooks:4201".
func New(target string, log *slog.Logger) (*Proxy, error) {
	// "https://hooks" would pass for the host "https" and the port "//hooks".
	if _, _, err := net.SplitHostPort(target); err == nil && !strings.Contains(target, "://") {
		target = "http://" + target
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("read the address of the hooks service %q: expected host:port or http://host:port", target)
	}
	p := &Proxy{transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       30 * time.Second, // Less than the hooks service's, so that it never hangs up first.
		ResponseHeaderTimeout: 30 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}}
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
				w.WriteHeader(499) // The client went away; nobody reads it.
				return
			}
			// The error names the hooks service's address, never the path.
			log.WarnContext(r.Context(), "passing a webhook on went wrong", "error", err)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	}
	return p, nil
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.proxy.ServeHTTP(w, r) }

// Close drops idle connections.
func (p *Proxy) Close() { p.transport.CloseIdleConnections() }
