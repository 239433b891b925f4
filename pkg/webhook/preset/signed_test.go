package preset_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/preset"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// signedRequest is a request that a provider has published, or that another implementation signed by the provider's rule.
type signedRequest struct {
	Preset, Source, Secret string
	At                     int64 // In Unix seconds.
	Headers                map[string]string
	Body                   string
}

func (s signedRequest) request() *receive.Request {
	r := &receive.Request{Method: "POST", Raw: []byte(s.Body), Wire: []byte(s.Body), URI: "/hooks/slug"}
	for name, value := range s.Headers {
		if name == "Authorization" {
			r.Authorization = value
			continue
		}
		r.Header = append(r.Header, receive.Field{Name: strings.ToLower(name), Value: value})
	}
	receive.Sort(r.Header)
	return r
}

// TestSignedSamples verifies the requests of testdata/signed.json, which names the published rule of each provider.
func TestSignedSamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/signed.json")
	require.NoError(t, err)
	var samples []signedRequest
	require.NoError(t, json.Unmarshal(text, &samples))
	for i, s := range samples {
		t.Run(fmt.Sprint(i, "/", s.Preset), func(t *testing.T) {
			t.Parallel()
			p, err := preset.Find(vocabulary.Orch, s.Preset)
			require.NoError(t, err)
			create := &orchv1.WebhookCreate{}
			require.NoError(t, restjson.Unmarshal([]byte(`{"name":"a",`+string(p.GetWebhook()[1:])), create))
			config, fieldErrors := verify.Settings(create.GetVerification())
			require.Empty(t, fieldErrors)
			require.Empty(t, verify.CheckSecrets(config, []string{s.Secret}))
			v, err := verify.New(config, []string{s.Secret}, nil)
			require.NoError(t, err)
			at := time.Unix(s.At, 0)
			_, err = v.Verify(t.Context(), s.request(), at)
			require.NoError(t, err, s.Source)

			detached := slices.Contains([]string{"token", "basic", "gitlab", "mailgun"}, word(config.GetScheme()))
			changed := s
			changed.Body = strings.Replace(s.Body, "e", "E", 1)
			if _, err = v.Verify(t.Context(), changed.request(), at); !detached {
				require.ErrorIs(t, err, verify.ErrUnproven, "another body")
			}
			for name := range s.Headers {
				if !slices.Contains(append(verify.CredentialHeaders(config), "authorization"), strings.ToLower(name)) {
					continue
				}
				for _, value := range []string{"", s.Headers[name] + "0", s.Headers[name][1:]} {
					other := s
					other.Headers = map[string]string{}
					for n, v := range s.Headers {
						if !strings.HasPrefix(n, "BOX-SIGNATURE") { // One valid signature is enough.
							other.Headers[n] = v
						}
					}
					other.Headers[name] = value
					if value != "" && value[1:] == s.Headers[name] {
						continue
					}
					_, err = v.Verify(t.Context(), other.request(), at)
					require.ErrorIs(t, err, verify.ErrUnproven, "%s: %q", name, value)
				}
			}
		})
	}
}

// word returns the name of a scheme in the API.
func word(scheme orchv1.WebhookScheme) string {
	return strings.ToLower(strings.TrimPrefix(scheme.String(), "WEBHOOK_SCHEME_"))
}
