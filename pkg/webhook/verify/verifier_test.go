package verify_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/sns"
	"github.com/orch-project/orch/pkg/webhook/sns/snstest"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// now is the time of the requests of these tests.
var now = time.Unix(1_700_000_000, 0)

func request(body string, header ...string) *receive.Request {
	r := &receive.Request{Method: "POST", Raw: []byte(body), Wire: []byte(body), Received: now}
	for i := 0; i < len(header); i += 2 {
		r.Header = append(r.Header, receive.Field{Name: strings.ToLower(header[i]), Value: header[i+1]})
	}
	return r
}

func verifier(t *testing.T, in *orchv1.WebhookVerificationInput, secrets ...string) *verify.Verifier {
	t.Helper()
	if in.GetTolerance() == 0 {
		in.Tolerance = 300
	}
	config, fieldErrors := verify.Settings(in)
	require.Empty(t, fieldErrors)
	v, err := verify.New(config, secrets, nil)
	require.NoError(t, err)
	return v
}

func mac(h func() hash.Hash, key, content string) []byte {
	m := hmac.New(h, []byte(key))
	m.Write([]byte(content))
	return m.Sum(nil)
}

func hexMAC(key, content string) string { return hex.EncodeToString(mac(sha256.New, key, content)) }

// TestPublishedVectors verifies the examples that the senders publish.
func TestPublishedVectors(t *testing.T) {
	t.Parallel()
	_, err := verifier(t, &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB}, "It's a Secret to Everybody").Verify(t.Context(),
		request("Hello, World!", "X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"), now)
	require.NoError(t, err, "github")

	_, err = verifier(t, &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_SLACK}, "8f742231b10e8888abcd99yyyzzz85a5").Verify(t.Context(),
		request("token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&"+
			"user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&"+
			"trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
			"X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503", "X-Slack-Request-Timestamp", "1531420618"),
		time.Unix(1531420700, 0))
	require.NoError(t, err, "slack")

	_, err = verifier(t, &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS}, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").Verify(t.Context(),
		request(`{"test": 2432232314}`, "webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp", "1614265330",
			"webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
		time.Unix(1614265330, 0))
	require.NoError(t, err, "standard webhooks")
}

// good returns a valid request of each scheme for a secret and a time.
var good = map[orchv1.WebhookScheme]func(secret, body string, at time.Time) *receive.Request{
	orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB: func(secret, body string, _ time.Time) *receive.Request {
		return request(body, "X-Hub-Signature-256", "sha256="+hexMAC(secret, body), "X-GitHub-Delivery", "d-1")
	},
	orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB: func(secret, body string, _ time.Time) *receive.Request {
		return request(body, "X-Gitlab-Token", secret, "Idempotency-Key", "d-1")
	},
	orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE: func(secret, body string, at time.Time) *receive.Request {
		ts := strconv.FormatInt(at.Unix(), 10)
		return request(body, "Stripe-Signature", "t="+ts+",v1=00,v1="+hexMAC(secret, ts+"."+body)+",v0=11")
	},
	orchv1.WebhookScheme_WEBHOOK_SCHEME_SLACK: func(secret, body string, at time.Time) *receive.Request {
		ts := strconv.FormatInt(at.Unix(), 10)
		return request(body, "X-Slack-Signature", "v0="+hexMAC(secret, "v0:"+ts+":"+body), "X-Slack-Request-Timestamp", ts)
	},
	orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS: func(secret, body string, at time.Time) *receive.Request {
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		ts := strconv.FormatInt(at.Unix(), 10)
		signature := base64.StdEncoding.EncodeToString(mac(sha256.New, string(key), "d-1."+ts+"."+body))
		return request(body, "svix-id", "d-1", "svix-timestamp", ts, "svix-signature", "v1a,xx v1,AAAA v1,"+signature)
	},
	orchv1.WebhookScheme_WEBHOOK_SCHEME_SHOPIFY: func(secret, body string, _ time.Time) *receive.Request {
		return request(body, "X-Shopify-Hmac-Sha256", base64.StdEncoding.EncodeToString(mac(sha256.New, secret, body)), "X-Shopify-Webhook-Id", "d-1")
	},
	orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC: func(secret, body string, at time.Time) *receive.Request {
		ts := strconv.FormatInt(at.Unix(), 10)
		return request(body, "X-Sig", "v="+base64.StdEncoding.EncodeToString(mac(sha512.New, secret, "d-1|"+ts+"|"+body+"|")), "X-Time", ts, "X-Id", "d-1")
	},
}

func input(scheme orchv1.WebhookScheme) *orchv1.WebhookVerificationInput {
	in := &orchv1.WebhookVerificationInput{Scheme: scheme}
	if scheme == orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC {
		p := func(s string) *string { return &s }
		in.Header, in.Prefix, in.TimestampHeader, in.IdHeader, in.SignedContent = p("X-Sig"), p("v="), p("X-Time"), p("X-Id"), p("{id}|{timestamp}|{body}|")
		in.Digest, in.Encoding = orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA512, orchv1.WebhookEncoding_WEBHOOK_ENCODING_BASE64
	}
	return in
}

const (
	secret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secret2 = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx" // Differs in the last byte.
)

func TestSchemes(t *testing.T) {
	t.Parallel()
	timed := map[orchv1.WebhookScheme]bool{
		orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE: true, orchv1.WebhookScheme_WEBHOOK_SCHEME_SLACK: true,
		orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS: true, orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC: true,
	}
	const body = "{\"id\": \"evt_1\",\r\n \"event_id\": \"Ev1\", \"n\": \x00\xff}"
	for scheme, signed := range good {
		t.Run(scheme.String(), func(t *testing.T) {
			t.Parallel()
			v := verifier(t, input(scheme), secret)
			_, err := v.Verify(t.Context(), signed(secret, body, now), now)
			require.NoError(t, err)
			refused := func(r *receive.Request, at time.Time, why string) {
				t.Helper()
				_, err := v.Verify(t.Context(), r, at)
				require.ErrorIs(t, err, verify.ErrUnproven, why)
				for _, word := range []string{secret, hexMAC(secret, body), "AAAA"} {
					require.NotContains(t, err.Error(), word, "no error shows the expected value")
				}
			}
			refused(signed(secret2, body, now), now, "another secret")
			refused(request(body), now, "no header at all")
			if scheme != orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB {
				changed := signed(secret, body, now)
				changed.Wire = append([]byte(nil), changed.Wire...)
				changed.Wire[len(body)-2] ^= 1
				changed.Raw = changed.Wire
				refused(changed, now, "another body")
			}
			for i, f := range signed(secret, body, now).Header {
				if strings.HasSuffix(f.Name, "-delivery") || strings.HasSuffix(f.Name, "webhook-id") || f.Name == "idempotency-key" {
					continue // Not signed.
				}
				gone := signed(secret, body, now)
				gone.Header = append(gone.Header[:i:i], gone.Header[i+1:]...)
				refused(gone, now, "without "+f.Name)
				for _, value := range []string{"", " ", f.Value + "x", "x" + f.Value, f.Value[:len(f.Value)/2], f.Value + ", " + f.Value, "\xff", strings.Repeat("v1=,", 1000)} {
					bad := signed(secret, body, now)
					bad.Header[i].Value = value
					if _, err := v.Verify(t.Context(), bad, now); err != nil {
						require.ErrorIs(t, err, verify.ErrUnproven)
					} else {
						require.Contains(t, value, f.Value, "%s: %q", f.Name, value)
					}
				}
			}
			if timed[scheme] {
				for _, off := range []time.Duration{-300 * time.Second, 300 * time.Second} {
					_, err := v.Verify(t.Context(), signed(secret, body, now.Add(off)), now)
					require.NoError(t, err, off)
				}
				refused(signed(secret, body, now.Add(-301*time.Second)), now, "too old")
				refused(signed(secret, body, now.Add(301*time.Second)), now, "too new")
			}

			// During a rotation both secrets are valid.
			both := verifier(t, input(scheme), secret2, secret)
			for _, s := range []string{secret, secret2} {
				_, err := both.Verify(t.Context(), signed(s, body, now), now)
				require.NoError(t, err)
			}
		})
	}
}

func TestPlainHMAC(t *testing.T) {
	t.Parallel()
	p := func(s string) *string { return &s }
	v := verifier(t, &orchv1.WebhookVerificationInput{
		Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC, Header: p("X-Signature"), Digest: orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA1,
	}, "long enough")
	_, err := v.Verify(t.Context(), request("body", "x-signature", hex.EncodeToString(mac(sha1.New, "long enough", "body"))), now)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), request("body", "x-signature", strings.ToUpper(hex.EncodeToString(mac(sha1.New, "long enough", "body")))), now)
	require.NoError(t, err, "hexadecimal digits in upper case")

	// Milliseconds.
	v = verifier(t, &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC, Header: p("X-Signature"), TimestampHeader: p("X-T")}, "long enough")
	_, err = v.Verify(t.Context(), request("body", "x-signature", hexMAC("long enough", "1700000000123.body"), "x-t", "1700000000123"), now)
	require.NoError(t, err)
}

func TestCompressedBodiesAreSignedEitherWay(t *testing.T) {
	t.Parallel()
	v := verifier(t, input(orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB), secret)
	for _, signed := range []string{"as sent", "what is in it"} {
		r := request("what is in it", "X-Hub-Signature-256", "sha256="+hexMAC(secret, signed))
		r.Wire = []byte("as sent")
		_, err := v.Verify(t.Context(), r, now)
		require.NoError(t, err, signed)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	p := func(s string) *string { return &s }
	hmacOf := func(change func(*orchv1.WebhookVerificationInput)) *orchv1.WebhookVerificationInput {
		in := &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC, Header: p("X-Sig")}
		change(in)
		return in
	}
	for field, in := range map[string]*orchv1.WebhookVerificationInput{
		"header":           hmacOf(func(in *orchv1.WebhookVerificationInput) { in.Header = nil }),
		"timestamp_header": hmacOf(func(in *orchv1.WebhookVerificationInput) { in.TimestampHeader = p("a b") }),
		"id_header":        hmacOf(func(in *orchv1.WebhookVerificationInput) { in.IdHeader = p("Authorization") }),
		"signed_content":   hmacOf(func(in *orchv1.WebhookVerificationInput) { in.SignedContent = p("{body}{body}") }),
		"prefix":           {Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB, Prefix: p("x")},
	} {
		_, fieldErrors := verify.Settings(in)
		require.Len(t, fieldErrors, 1, field)
		require.Equal(t, field, fieldErrors[0].Field)
	}
	for _, content := range []string{"{timestamp}{body}", "{id}{body}", "none"} {
		_, fieldErrors := verify.Settings(hmacOf(func(in *orchv1.WebhookVerificationInput) { in.SignedContent = &content }))
		require.Len(t, fieldErrors, 1, content)
	}
	_, fieldErrors := verify.Settings(hmacOf(func(in *orchv1.WebhookVerificationInput) {
		in.SignedContent, in.TimestampHeader = p("{body}"), p("X-T")
	}))
	require.Len(t, fieldErrors, 1, "a timestamp that is not signed")

	standard, _ := verify.Settings(input(orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS))
	require.Equal(t, map[int]string{1: "a secret of standard-webhooks is whsec_ and base64"}, verify.CheckSecrets(standard, []string{secret, "whsec_%"}))
	github, _ := verify.Settings(input(orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB))
	const short = "a secret has at least 8 bytes, decoded and without its prefix"
	require.Equal(t, map[int]string{0: short}, verify.CheckSecrets(github, []string{"short", "long enough"}))
	require.Equal(t, map[int]string{0: short, 2: short}, verify.CheckSecrets(standard, []string{"whsec_AA==", "whsec_QUFBQUFBQUE=", "QUFBQUFBQQ=="}), "the decoded key counts")
	stripe := &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE}
	require.Equal(t, map[int]string{0: short}, verify.CheckSecrets(stripe, []string{"whsec_1234567", "whsec_12345678"}), "the prefix does not count")
	for _, secrets := range [][]string{nil, {""}} {
		_, err := verify.New(github, secrets, nil)
		require.ErrorIs(t, err, verify.ErrInvalid, "nothing is proven by no secret")
	}
	_, err := verify.New(&orchv1.WebhookVerification{}, []string{secret}, nil)
	require.ErrorIs(t, err, verify.ErrInvalid)
}

var hook = uuid.MustParse("01890000-0000-7000-8000-00000000000c")

func TestEventIDs(t *testing.T) {
	t.Parallel()
	const body = `{"id": "evt_1", "event_id": "Ev1"}`
	byID, byContent := orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID, orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_CONTENT
	for scheme, signed := range good {
		v := verifier(t, input(scheme), secret)
		id := func(by orchv1.WebhookDeduplication, r *receive.Request) uuid.UUID {
			proof, err := v.Verify(t.Context(), r, now)
			require.NoError(t, err)
			return verify.EventID(hook, by, scheme, &proof, r)
		}
		first := signed(secret, body, now)
		require.NotEqual(t, uuid.Nil, id(byID, first), scheme)
		require.EqualValues(t, 5, id(byID, first).Version())
		require.Equal(t, id(byID, first), id(byID, signed(secret, body, now.Add(time.Second))), "%s: a repeat that is signed anew", scheme)
		require.Equal(t, id(byContent, first), id(byContent, signed(secret, body, now)), scheme)
		require.NotEqual(t, id(byContent, first), id(byContent, signed(secret, body+" ", now)), scheme)
		require.Equal(t, uuid.Nil, id(orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_NONE, first))
		require.NotEqual(t, id(byID, first), verify.EventID(uuid.Max, byID, scheme, &verify.Proof{ID: "d-1"}, first), "each webhook for itself")
	}
	// Without an id: the signed content, where it differs between requests.
	github := verifier(t, input(orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB), secret)
	r := request("body", "X-Hub-Signature-256", "sha256="+hexMAC(secret, "body"))
	proof, err := github.Verify(t.Context(), r, now)
	require.NoError(t, err)
	require.NotEqual(t, uuid.Nil, verify.EventID(hook, byID, orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB, &proof, r))
	require.Equal(t, uuid.Nil, verify.EventID(hook, byID, orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC, &verify.Proof{}, r), "equal requests may be two")
	require.Equal(t, uuid.Nil, verify.EventID(hook, byID, orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB, &verify.Proof{}, r))
	require.Equal(t, uuid.Nil, verify.EventID(hook, byContent, orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB, &verify.Proof{}, request("")), "requests without a body are all alike")
}

// TestHeadersDistinguishNoDeliveries: whoever captured a request whose id and time are not signed cannot make another
// delivery of it by other headers.
func TestHeadersDistinguishNoDeliveries(t *testing.T) {
	t.Parallel()
	p := func(s string) *string { return &s }
	const body = `{"event": {"id": "e-1"}, "n": 1}`
	at := strconv.FormatInt(now.Unix(), 10)
	hmacOf := func(content string) *orchv1.WebhookVerificationInput {
		return &orchv1.WebhookVerificationInput{
			Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC, Header: p("X-Sig"), IdHeader: p("X-Id"), SignedContent: p(content),
		}
	}
	sha1Base64 := func(content string) string {
		return base64.StdEncoding.EncodeToString(mac(sha1.New, secret, content))
	}
	for _, c := range []struct {
		name          string
		input         *orchv1.WebhookVerificationInput
		body, id      string // id is the header of the delivery's id.
		signed, other []string
	}{
		{"github", input(orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB), body, "X-GitHub-Delivery", []string{"X-Hub-Signature-256", "sha256=" + hexMAC(secret, body)}, []string{"X-GitHub-Event", "release"}},
		{
			"shopify", input(orchv1.WebhookScheme_WEBHOOK_SCHEME_SHOPIFY), body, "X-Shopify-Webhook-Id",
			[]string{"X-Shopify-Hmac-Sha256", base64.StdEncoding.EncodeToString(mac(sha256.New, secret, body))},
			[]string{"X-Shopify-Topic", "other"},
		},
		{
			"twilio", input(orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO), "Body=hi&From=%2B1", "I-Twilio-Idempotency-Token",
			[]string{"Host", "orch.example", "Content-Type", "application/x-www-form-urlencoded", "X-Twilio-Signature", sha1Base64("https://orch.example/hooks/sBodyhiFrom+1")},
			nil,
		},
		{
			"twilio without a body", input(orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO), "", "I-Twilio-Idempotency-Token",
			[]string{"Host", "orch.example", "X-Twilio-Signature", sha1Base64("https://orch.example/hooks/s")},
			nil,
		},
		{"calendly", input(orchv1.WebhookScheme_WEBHOOK_SCHEME_CALENDLY), body, "X-Id", []string{"Calendly-Webhook-Signature", "t=" + at + ",v1=" + hexMAC(secret, at+"."+body)}, nil},
		{"pagerduty", input(orchv1.WebhookScheme_WEBHOOK_SCHEME_PAGERDUTY), body, "X-Webhook-Id", []string{"X-PagerDuty-Signature", "v1=" + hexMAC(secret, body)}, nil},
		{"hmac of the body", hmacOf("{body}"), body, "X-Id", []string{"X-Sig", hexMAC(secret, body)}, nil},
		{"hmac of more than the body", hmacOf("v1:{body}:end"), body, "X-Id", []string{"X-Sig", hexMAC(secret, "v1:"+body+":end")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := verifier(t, c.input, secret)
			sent := c.body
			id := func(header ...string) uuid.UUID {
				r := request(c.body, append(slices.Clone(c.signed), header...)...)
				r.URI, r.Wire = "/hooks/s", []byte(sent)
				proof, err := v.Verify(t.Context(), r, now)
				require.NoError(t, err)
				return verify.EventID(hook, orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID, v.Scheme(), &proof, r)
			}
			first := id(c.id, "d-1")
			require.NotEqual(t, uuid.Nil, first)
			for _, header := range [][]string{
				{c.id, "d-2"},
				{},
				c.other,
				{"Webhook-Id", "d-3"},
				{"aeg-event-type", "Notification"},
				{"ce-specversion", "1.0", "ce-source", "s", "ce-id", "4"},
				{"Idempotency-Key", "d-5"},
			} {
				require.Equal(t, first, id(header...), header)
			}
			if c.body != "" {
				sent = "the same, compressed"
				require.Equal(t, first, id(c.id, "d-6"))
				sent = c.body
			}
			if c.input.GetScheme() != orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO { // Its signature depends on the type.
				for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"} {
					require.Equal(t, first, id(c.id, "d-1", "Content-Type", kind), kind)
				}
			}
		})
	}
	// A signed id distinguishes deliveries of one content.
	v := verifier(t, hmacOf("{id}.{body}"), secret)
	id := func(name string) uuid.UUID {
		r := request(body, "X-Sig", hexMAC(secret, name+"."+body), "X-Id", name)
		proof, err := v.Verify(t.Context(), r, now)
		require.NoError(t, err)
		return verify.EventID(hook, orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID, v.Scheme(), &proof, r)
	}
	require.NotEqual(t, id("d-1"), id("d-2"))
}

func TestCloudEventsAreKnownBySourceAndID(t *testing.T) {
	t.Parallel()
	byID := orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID
	want := uuid.NewSHA1(hook, []byte("/source\n1"))
	structured := request(`{"specversion": "1.0", "source": "/source", "id": "1", "type": "t"}`)
	binary := request(`{}`, "ce-specversion", "1.0", "ce-source", "/source", "ce-id", "1")
	for _, r := range []*receive.Request{structured, binary} {
		require.Equal(t, want, verify.EventID(hook, byID, orchv1.WebhookScheme_WEBHOOK_SCHEME_UNSPECIFIED, nil, r))
		require.Equal(t, want, verify.EventID(hook, byID, orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC, &verify.Proof{}, r))
	}
	for _, r := range []*receive.Request{request("{}"), request("["), request(""), request(`{"specversion": "1.0", "source": "/source", "id": 1}`)} {
		require.Equal(t, uuid.Nil, verify.EventID(hook, byID, orchv1.WebhookScheme_WEBHOOK_SCHEME_UNSPECIFIED, nil, r))
	}
}

func TestCredentialHeaders(t *testing.T) {
	t.Parallel()
	p := func(s string) *string { return &s }
	for want, in := range map[string]*orchv1.WebhookVerificationInput{
		"x-hub-signature-256":              input(orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB),
		"x-gitlab-token":                   input(orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB),
		"webhook-signature svix-signature": input(orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS),
		"x-sig":                            input(orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC),
		"x-my-auth":                        {Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN, Header: p("X-My-Auth"), Prefix: p("Key ")},
	} {
		config, fieldErrors := verify.Settings(in)
		require.Empty(t, fieldErrors)
		require.Equal(t, want, strings.Join(verify.CredentialHeaders(config), " "))
	}
	require.Empty(t, verify.CredentialHeaders(&orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_SNS}))
}

// TestTopicsOfSNSAreNamed: SNS signs the messages of every customer, so its signature alone proves nobody.
func TestTopicsOfSNSAreNamed(t *testing.T) {
	t.Parallel()
	_, fieldErrors := verify.Settings(input(orchv1.WebhookScheme_WEBHOOK_SCHEME_SNS))
	require.Len(t, fieldErrors, 1)
	require.Equal(t, "topic_arns", fieldErrors[0].Field)

	const topic = "arn:aws:sns:eu-central-1:123456789012:orders"
	p := snstest.New(t)
	policy, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	certificates := sns.NewClient(sns.Options{Hosts: []string{p.Host()}, Roots: p.Roots(), Policy: policy})
	for _, c := range []struct {
		name   string
		listed []string
		topic  string
		proven bool
	}{
		{"the topic", []string{"arn:aws:sns:us-east-1:1:x", topic}, topic, true},
		{"the account", []string{"123456789012"}, topic, true},
		{"another topic", []string{topic}, topic + "2", false},
		{"another account", []string{"123456789013"}, topic, false},
		{"an account in the name", []string{"123456789012"}, "arn:aws:sns:eu-central-1:210987654321:123456789012", false},
		{"none, of an older version", nil, topic, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, err := verify.New(&orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_SNS, TopicArns: c.listed}, nil, certificates)
			require.NoError(t, err)
			_, err = v.Verify(t.Context(), request(p.Notification(c.topic, "1", "text")), time.Now())
			if c.proven {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, verify.ErrUnproven)
		})
	}
}

// FuzzVerify checks that no header causes a panic or an undue proof.
func FuzzVerify(f *testing.F) {
	f.Add("v1,AAAA", "1700000000", "t=1700000000,v1=00")
	f.Add("sha256=", "", "v0=00")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for scheme := range good {
			v := verifier(t, input(scheme), secret)
			_, err := v.Verify(t.Context(), request("body", "webhook-signature", a, "webhook-id", b, "webhook-timestamp", c, "x-hub-signature-256", a,
				"x-gitlab-token", b, "stripe-signature", c, "x-slack-signature", c, "x-slack-request-timestamp", b, "x-shopify-hmac-sha256", a,
				"x-sig", a, "x-time", b, "x-id", c), now)
			require.ErrorIs(t, err, verify.ErrUnproven)
		}
	})
}
