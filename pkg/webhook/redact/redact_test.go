package redact_test

import (
	"strings"
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
		"x-goog-iap-jwt-assertion", "x-forwarded-access-token", "x-client-secret", "x-password", "x-my-auth", "x-pass", "x-access", "x-hmac", "otp", "ticket", "assertion", "accessToken", "authtoken",
		"user[password]", "client_secrets", "X-API-Key", "private key", "pwd",
	} {
		require.True(t, redact.Credential(name), name)
	}
	for _, name := range []string{
		"host", "content-type", "user-agent", "x-hub-signature-256", "stripe-signature", "idempotency-key", "sec-websocket-key", "x-github-delivery",
		"x-tokenizer", "x-request-id", "webhook-id", "x-keyboard", "www-authenticate", "author", "x-passenger", "compass", "spin", "address",
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
			{Name: "x-proof", Value: "an earlier one"},
			{Name: "x-original-url", Value: "/a/b?sid=1"},
			{Name: "link", Value: "<https://h/a?sid=1#x>; rel=next, <https://h/b>"},
		},
		CredentialHeaders: []string{"x-proof"},
	}
	require.Equal(t, `{"cookie":"***","referer":"https://h/hooks/***","x-token":"***","x-signature":"v1=***","x-proof":"***","x-original-url":"/a/b",`+
		`"link":"<https://h/a>; rel=next, <https://h/b>"}`, string(jsontree.Text(redact.Headers(r))))
	require.Equal(t, `a *** b *** c *** short *** *** tiny *** ***`,
		redact.Text(r, `a session="top secret" b session=\"top secret\" c Canary_slug-0123456789 short signing "secret" signing \"secret\" tiny an earlier one `+
			`signing+%22secret%22`))
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

func TestQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"": "", "a=1&b": "a=1&b", "token=x&id=7": "token=***&id=7", "tok%65n=x": "tok%65n=***", "TOKEN=x": "TOKEN=***", "accessToken=x": "accessToken=***",
		"otp=1&ticket=2&assertion=3": "otp=***&ticket=***&assertion=***", "key=1&sig=2&code=3": "key=***&sig=***&code=***", "%zz=1": "%zz=1",
		"X-Amz-Signature=1&X-Goog-Signature=2&Sig=3": "X-Amz-Signature=***&X-Goog-Signature=***&Sig=***", "hub.verify_token=1": "hub.verify_token=***",
		"error_code=1&signature_version=2": "error_code=1&signature_version=2",
		"auth%5Btoken%5D=x":                "auth%5Btoken%5D=***", "idempotency-key=1": "idempotency-key=1", "monkey=1": "monkey=1",
	} {
		require.Equal(t, want, redact.Query(query), query)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		n          int
		want       string
		cut        bool
	}{
		{"short", "abc", 3, "abc", false},
		{"long", "abcd", 3, "abc", true},
		{"between characters", "aé", 2, "a", true},
		{"between long characters", "a😀b", 4, "a", true},
		{"after a character", "aéb", 3, "aé", true},
		{"invalid", "a\xff", 9, "a\ufffd", false},
		{"invalid, and too long when it is replaced", "a\xff", 3, "a", true},
		{"invalid and long", strings.Repeat("\xff", 1000), 3, "\ufffd", true},
		{"nothing", "é", 0, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, cut := redact.Cut(c.text, c.n)
			require.Equal(t, c.want, got)
			require.Equal(t, c.cut, cut)
		})
	}
}
