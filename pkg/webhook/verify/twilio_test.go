package verify_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// twilio returns a request to a path, signed over a text.
func twilio(uri, host, kind, body, text string) *receive.Request {
	r := request(body, "Host", host, "Content-Type", kind,
		"X-Twilio-Signature", base64.StdEncoding.EncodeToString(mac(sha1.New, "12345-token", text)))
	r.URI = uri
	for i, c := range uri {
		if c == '?' {
			r.Query = uri[i+1:]
		}
	}
	return r
}

// TestTwilioSignsTheURLAndTheForm, sorted by name, as its documentation has it; of other bodies it signs a digest.
func TestTwilioSignsTheURLAndTheForm(t *testing.T) {
	t.Parallel()
	const form, json = "application/x-www-form-urlencoded; charset=UTF-8", "application/json"
	const fields = "Digits=1234&To=%2B18005551212&From=%2B14158675310&Caller=%2B14158675310&CallSid=CA1234567890ABCDE"
	const sorted = "CallSidCA1234567890ABCDECaller+14158675310Digits1234From+14158675310To+18005551212"
	body := `{"a": 1}`
	sum := sha256.Sum256([]byte(body))
	digest := "/hooks/s?bodySHA256=" + hex.EncodeToString(sum[:])
	v := verifier(t, &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO}, "12345-token")
	for name, c := range map[string]struct {
		r    *receive.Request
		good bool
	}{
		"form":                   {twilio("/hooks/s?foo=1&bar=2", "x.example", form, fields, "https://x.example/hooks/s?foo=1&bar=2"+sorted), true},
		"behind TLS and a port":  {twilio("/hooks/s", "x.example:4200", form, fields, "https://x.example/hooks/s"+sorted), true},
		"signed with the port":   {twilio("/hooks/s", "x.example", form, fields, "https://x.example:443/hooks/s"+sorted), true},
		"plain HTTP":             {twilio("/hooks/s", "x.example:80", form, fields, "http://x.example:80/hooks/s"+sorted), true},
		"values of one name":     {twilio("/hooks/s", "x.example", form, "a=2&a=1&a=2", "https://x.example/hooks/sa1a2"), true},
		"no body":                {twilio("/hooks/s", "x.example", "", "", "https://x.example/hooks/s"), true},
		"json":                   {twilio(digest, "x.example", json, body, "https://x.example"+digest), true},
		"json, changed":          {twilio(digest, "x.example", json, `{"a": 2}`, "https://x.example"+digest), false},
		"json without a digest":  {twilio("/hooks/s", "x.example", json, body, "https://x.example/hooks/s"), false},
		"another host":           {twilio("/hooks/s", "y.example", form, fields, "https://x.example/hooks/s"+sorted), false},
		"another path":           {twilio("/hooks/t", "x.example", form, fields, "https://x.example/hooks/s"+sorted), false},
		"a field more":           {twilio("/hooks/s", "x.example", form, fields+"&X=1", "https://x.example/hooks/s"+sorted), false},
		"a form as another type": {twilio("/hooks/s", "x.example", json, fields, "https://x.example/hooks/s"), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := v.Verify(t.Context(), c.r, now)
			if c.good {
				require.NoError(t, err, name)
			} else {
				require.ErrorIs(t, err, verify.ErrUnproven, name)
			}
		})
	}
	forwarded := twilio("/hooks/s", "internal:4201", form, fields, "https://x.example/hooks/s"+sorted)
	forwarded.Header = append(forwarded.Header, receive.Field{Name: "x-forwarded-host", Value: "x.example, proxy"})
	_, err := v.Verify(t.Context(), forwarded, now)
	require.NoError(t, err, "behind a proxy")
}

// TestOneOfSeveralSignaturesIsEnough, while a sender rotates its secret.
func TestOneOfSeveralSignaturesIsEnough(t *testing.T) {
	t.Parallel()
	const body = `{"event": {"id": "1"}}`
	good, bad := "v1="+hexMAC(secret, body), "v1="+hexMAC(secret2, body)
	v := verifier(t, &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_PAGERDUTY}, secret)
	for header, want := range map[string]bool{
		good: true, good + "," + bad: true, bad + ", " + good: true, bad: false, bad + "," + bad: false, "": false, "v2=00": false, hexMAC(secret, body): false,
	} {
		_, err := v.Verify(t.Context(), request(body, "X-PagerDuty-Signature", header), now)
		require.Equal(t, want, err == nil, header)
	}
}

// TestTokens are in any header behind any prefix; Authorization is compared without case of its scheme.
func TestTokens(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	bearer := verifier(t, &orchv1.WebhookVerificationInput{
		Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN, Header: text("authorization"), Prefix: text("Bearer "),
	}, secret, secret2)
	for value, want := range map[string]bool{
		"Bearer " + secret: true, "bearer " + secret2: true, "Bearer " + secret + "x": false, secret: false, "Basic " + secret: false, "": false, "Bear": false,
	} {
		r := request("{}")
		r.Authorization = value
		_, err := bearer.Verify(t.Context(), r, now)
		require.Equal(t, want, err == nil, value)
	}
	own := verifier(t, &orchv1.WebhookVerificationInput{
		Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN, Header: text("X-Token"), IdHeader: text("X-Id"),
	}, secret)
	proof, err := own.Verify(t.Context(), request("{}", "X-Token", secret, "X-Id", "7"), now)
	require.NoError(t, err)
	require.Equal(t, "7", proof.ID)
	_, err = own.Verify(t.Context(), request("{}", "X-Token", secret2), now)
	require.ErrorIs(t, err, verify.ErrUnproven)

	_, fieldErrors := verify.Settings(&orchv1.WebhookVerificationInput{
		Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN, SignedContent: text("{body}"), TimestampHeader: text("X"), IdHeader: text("a b"),
	})
	require.Len(t, fieldErrors, 4)
}

// TestTokensRefuseWhatTheyIgnore: a digest or an encoding would suggest that something is signed.
func TestTokensRefuseWhatTheyIgnore(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	token := func(change func(*orchv1.WebhookVerificationInput)) *orchv1.WebhookVerificationInput {
		in := &orchv1.WebhookVerificationInput{
			Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN, Header: text("X-Token"),
			Digest: orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA256, Encoding: orchv1.WebhookEncoding_WEBHOOK_ENCODING_HEX, // The defaults.
		}
		change(in)
		return in
	}
	_, fieldErrors := verify.Settings(token(func(*orchv1.WebhookVerificationInput) {}))
	require.Empty(t, fieldErrors)
	for field, in := range map[string]*orchv1.WebhookVerificationInput{
		"digest": token(func(in *orchv1.WebhookVerificationInput) { in.Digest = orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA512 }),
		"encoding": token(func(in *orchv1.WebhookVerificationInput) {
			in.Encoding = orchv1.WebhookEncoding_WEBHOOK_ENCODING_BASE64
		}),
		"id_header": token(func(in *orchv1.WebhookVerificationInput) { in.IdHeader = text("authorization") }),
	} {
		_, fieldErrors := verify.Settings(in)
		require.Len(t, fieldErrors, 1, field)
		require.Equal(t, field, fieldErrors[0].Field)
	}
}

// TestTwilioFormsAreNotCopied for each URL that the caller may have seen: any sender can post a form of the maximum size.
func TestTwilioFormsAreNotCopied(t *testing.T) { //nolint:paralleltest // It measures the memory of the process.
	const size = 1 << 20
	v := verifier(t, &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO}, "12345-token")
	r := twilio("/hooks/s", "x.example:4200", "application/x-www-form-urlencoded", "a="+strings.Repeat("b", size), "nothing")
	r.Header = append(r.Header, receive.Field{Name: "x-forwarded-host", Value: "y.example:4200"})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := v.Verify(t.Context(), r, now)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, verify.ErrUnproven)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10*size), "16 URLs share the form")
}
