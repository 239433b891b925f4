package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/redact"
)

func TestCredential(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"cookie", "set-cookie", "proxy-authorization", "x-gitlab-token", "x-shopify-access-token", "x-api-key", "api-key", "apikey", "x-auth-token",
		"x-amz-security-token", "x-functions-key", "ocp-apim-subscription-key", "x-telegram-bot-api-secret-token", "x_api_key", "key", "x-session-id",
		"x-goog-iap-jwt-assertion", "x-forwarded-access-token", "x-client-secret", "x-password",
	} {
		require.True(t, redact.Credential(name), name)
	}
	for _, name := range []string{
		"host", "content-type", "user-agent", "x-hub-signature-256", "stripe-signature", "idempotency-key", "sec-websocket-key", "x-github-delivery",
		"x-tokenizer", "x-request-id", "webhook-id", "x-keyboard", "www-authenticate",
	} {
		require.False(t, redact.Credential(name), name)
	}
}

func TestHeadersAndText(t *testing.T) {
	t.Parallel()
	r := &receive.Request{
		Slug: "Canary_slug-0123456789", Secrets: []string{"signing \"secret\"", "tiny"},
		Header: []receive.Field{
			{Name: "cookie", Value: `session="top secret"`},
			{Name: "referer", Value: "https://h/hooks/Canary_slug-0123456789?x"},
			{Name: "x-token", Value: "short"},
			{Name: "x-signature", Value: `v1=signing "secret"`},
		},
	}
	require.Equal(t, `{"cookie":"***","referer":"https://h/hooks/***?x","x-token":"***","x-signature":"v1=***"}`, string(jsontree.Text(redact.Headers(r))))
	require.Equal(t, `a *** b *** c *** short *** *** tiny`,
		redact.Text(r, `a session="top secret" b session=\"top secret\" c Canary_slug-0123456789 short signing "secret" signing \"secret\" tiny`))
}

func TestBody(t *testing.T) {
	t.Parallel()
	for want, body := range map[string]receive.Body{
		`""`:                {},
		`"text"`:            {Text: "text"},
		`{"a":1.50}`:        {Text: ` {"a": 1.50} `},
		`{}`:                {Form: true},
		`{"a":"1","b":"x"}`: {Form: true, Pairs: []receive.Pair{{Key: "a", Value: "1"}, {Key: "b", Value: "x"}}},
		`{"f":{"name":"a.txt","type":"text/plain","size":3,"sha256":"00"}}`: {
			Form: true, Pairs: []receive.Pair{{Key: "f", File: &receive.File{Name: "a.txt", Type: "text/plain", Size: 3, SHA256: "00"}}},
		},
	} {
		require.Equal(t, want, string(jsontree.Text(redact.Body(body))))
	}
}
