package cli

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// readVerification returns how requests of a webhook are signed.
func readVerification(w webhookSummary) (*orchv1.WebhookVerification, error) {
	if !w.verified() {
		return nil, fmt.Errorf("%w: --sign: the webhook verifies no signatures", errArgument)
	}
	out := &orchv1.WebhookVerification{}
	if err := restjson.Unmarshal(w.Verification, out); err != nil {
		return nil, fmt.Errorf("read the webhook's verification: %w", err)
	}
	return out, nil
}

// sign adds the headers by which the sender proves a request, and returns the body with the proof that it has for some schemes.
func (t *trial) sign(request *http.Request, body string) (string, error) {
	if t.verification == nil {
		return body, nil
	}
	text, _, err := t.secret()
	if err != nil {
		return "", err
	}
	secrets := secretLines(text)
	if len(secrets) == 0 {
		return "", fmt.Errorf("%w: --sign needs the secret: --secret-file or --secret; the server never shows it", errArgument)
	}
	target := request.URL
	signed := &receive.Request{
		Method: request.Method, Query: target.RawQuery, Raw: []byte(body), URI: target.RequestURI(),
		Header: []receive.Field{{Name: "content-type", Value: request.Header.Get("Content-Type")}, {Name: "host", Value: target.Host}},
	}
	fields, err := verify.Sign(t.verification, secrets[0], signed, uuid.NewString(), time.Now())
	if err != nil {
		return "", fmt.Errorf("sign the request: %w", err)
	}
	for _, f := range fields {
		request.Header.Set(f.Name, f.Value)
	}
	return string(signed.Raw), nil
}
