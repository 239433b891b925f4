package sns

import (
	"crypto/x509"
	"fmt"
	"maps"
	"time"
)

// lookup returns the cached outcome for a URL.
func (c *Client) lookup(key string) (cached, bool) {
	now := c.opts.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cache := range []map[string]cached{c.certificates, c.failures} {
		if entry, ok := cache[key]; ok && now.Before(entry.until) {
			return entry, true
		}
	}
	return cached{}, false
}

// remember caches the outcome of a fetch and returns its error. Failures have a cache of their own, so URLs that strangers
// make up never displace a certificate.
func (c *Client) remember(key string, certificate *x509.Certificate, err error) error {
	now := c.opts.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		put(c.certificates, key, cached{certificate: certificate, until: now.Add(certificateTTL)}, maxCertificates, now)
		return nil
	}
	put(c.failures, key, cached{err: fmt.Errorf("%w (cached for %s)", err, failureTTL), until: now.Add(failureTTL)}, maxFailures, now)
	return err
}

// put adds an entry. A full cache loses its expired entries, or else the one that expires first.
func put(cache map[string]cached, key string, entry cached, limit int, now time.Time) {
	if len(cache) >= limit {
		maps.DeleteFunc(cache, func(_ string, old cached) bool { return !now.Before(old.until) })
	}
	if len(cache) >= limit {
		oldest := ""
		for name, old := range cache {
			if oldest == "" || old.until.Before(cache[oldest].until) {
				oldest = name
			}
		}
		delete(cache, oldest)
	}
	cache[key] = entry
}
