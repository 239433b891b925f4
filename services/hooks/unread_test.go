package hooks_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// counted counts the bytes that are read from a body.
type counted struct {
	io.Reader
	read atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// TestBodiesOfStrangersAreNotRead: where the header alone proves that the sender is a stranger, no byte of the body is read.
func TestBodiesOfStrangersAreNotRead(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	now := signed(t, ring, static)
	timed := signed(t, ring, static)
	timed.Verification = &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE, Tolerance: 300}
	token := signed(t, ring, static)
	token.Verification = &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB}
	w.put("signed", now)
	w.put("timed", timed)
	w.put("token", token)
	for _, c := range []struct{ name, slug, header, value string }{
		{"no signature", "signed", "X-Other", "1"},
		{"another kind of signature", "signed", "X-Hub-Signature-256", "md5=00"},
		{"no timestamp", "timed", "Stripe-Signature", "v1=00"},
		{"an old timestamp", "timed", "Stripe-Signature", "t=1,v1=00"},
		{"a wrong token", "token", "X-Gitlab-Token", "guess"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body := &counted{Reader: io.LimitReader(endless{}, 1<<20)}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/"+c.slug, body)
			r.Header.Set(c.header, c.value)
			answer := httptest.NewRecorder()
			w.hooks.Handler().ServeHTTP(answer, r)
			require.Equal(t, http.StatusUnauthorized, answer.Code)
			require.Zero(t, body.read.Load())
		})
	}
}

// endless is a body without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
