package deliverylog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const slug = "c2VjcmV0LXNsdWctMTIz"

func request(body string) *receive.Request {
	return &receive.Request{
		Slug: slug, Method: "POST", Path: "/", Query: "a=1&token=t0psecret&key=k&hub.verify_token=v&b=2",
		Header:   []receive.Field{{Name: "authorization", Value: "Bearer t0psecret"}, {Name: "content-type", Value: "text/plain"}},
		Raw:      []byte(body),
		Wire:     []byte(body),
		Received: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC),
	}
}

func TestCredentialsAreMasked(t *testing.T) {
	t.Parallel()
	d := deliverylog.Of(request("hello"))
	require.NotContains(t, d.GetQuery(), "t0psecret")
	for _, pair := range []string{"a=1", "b=2"} {
		require.Contains(t, d.GetQuery(), pair)
	}
	for _, pair := range []string{"key=k", "hub.verify_token=v"} {
		require.NotContains(t, strings.Split(d.GetQuery(), "&"), pair)
	}
	require.NotContains(t, d.GetHeaders()["authorization"], "t0psecret")
	require.Equal(t, "text/plain", d.GetHeaders()["content-type"])
}

// A replay gets the request that the delivery keeps.
func TestRequestComesBack(t *testing.T) {
	t.Parallel()
	r := request("hello")
	d := deliverylog.Of(r)
	back := deliverylog.Request(d)
	require.Equal(t, r.Method, back.Method)
	require.Equal(t, r.Path, back.Path)
	require.Equal(t, r.Raw, back.Raw)
	require.True(t, r.Received.Equal(back.Received))
	require.False(t, back.TooLarge)
	require.Equal(t, "text/plain", back.Get("content-type"))
	require.Empty(t, back.Slug, "the log does not know it")
	require.Equal(t, d, deliverylog.Of(back), "masked once, masked the same again")
}

func TestLongBodiesAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", deliverylog.MaxBody+1)
	d := deliverylog.Of(request(long))
	require.True(t, d.GetBodyTruncated())
	require.Len(t, d.GetRawBody(), deliverylog.MaxBody)
	require.Equal(t, int64(len(long)), d.GetSize())
	require.True(t, deliverylog.Request(d).TooLarge)

	whole := deliverylog.Of(request(long[1:]))
	require.False(t, whole.GetBodyTruncated())
}

func TestFailuresAreNotedWithoutTheSlug(t *testing.T) {
	t.Parallel()
	r, d := request(""), &orchv1.WebhookDelivery{}
	rendered := "posted to " + slug
	deliverylog.Fail(d, r, errors.New("cannot "+strings.Repeat("very ", 2000)+slug), &rendered)
	require.NotContains(t, d.GetError(), slug)
	require.Less(t, len(d.GetError()), 5<<10)
	require.NotContains(t, d.GetRendered(), slug)
	require.Contains(t, d.GetRendered(), "posted to ")

	d = &orchv1.WebhookDelivery{}
	deliverylog.Fail(d, r, errors.New("it did not render"), nil)
	require.Nil(t, d.Rendered)
}

func TestBodiesAreText(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]*orchv1.WebhookDelivery{
		"":        {},
		"a=1&b=2": {RawBody: []byte("a=1&b=2"), Headers: map[string]string{"content-type": "application/x-www-form-urlencoded"}},
		"é":       {RawBody: []byte{0xe9}, Headers: map[string]string{"content-type": "text/plain; charset=iso-8859-1"}},
		"{\"a\":1}": {
			RawBody: []byte(`{"a":1}`), Headers: map[string]string{"content-type": "application/json"},
		},
	} {
		require.Equal(t, want, deliverylog.Body(d))
	}
}
