package webhookdef

import (
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/secrets"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Reseal encrypts the secrets of a webhook with the first key, where another one did.
func Reseal(keys secrets.Keyring, workspace, webhook uuid.UUID, w *orchv1.Webhook) error {
	reseal := func(field, sealed string) (string, error) {
		raw, err := base64.StdEncoding.DecodeString(sealed)
		if err != nil {
			return "", fmt.Errorf("open %s: %w", field, err)
		}
		next, _, err := keys.Reseal(SecretPlace(workspace, webhook, field), raw)
		return base64.StdEncoding.EncodeToString(next), err
	}
	for i, sealed := range w.GetSealedSecrets() {
		next, err := reseal(FieldSecrets, sealed)
		if err != nil {
			return err
		}
		w.SealedSecrets[i] = next
	}
	if sealed := w.GetSealedVerifyToken(); sealed != "" {
		next, err := reseal(FieldVerifyToken, sealed)
		if err != nil {
			return err
		}
		w.SealedVerifyToken = &next
	}
	return nil
}
