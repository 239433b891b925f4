package webhookdef

import (
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/secrets"
)

// The encrypted fields of a webhook.
const (
	FieldSecrets     = "webhook.secrets"
	FieldVerifyToken = "webhook.verify_token" //nolint:gosec // The name of a field.
)

// SecretPlace returns the place of a webhook's secret, in the store and in the bucket alike.
func SecretPlace(workspace, webhook uuid.UUID, field string) secrets.FieldRef {
	return secrets.FieldRef{Workspace: workspace, Document: webhook, Field: field}
}

// SealedSecrets is a webhook or a definition, which both carry the sealed secrets.
type SealedSecrets interface {
	GetSealedSecrets() []string
	GetSealedVerifyToken() string
}

// OpenSecrets decrypts the secrets of a webhook: those of its signatures, and the verify token, which may be empty.
func OpenSecrets(keys secrets.Keyring, workspace, webhook uuid.UUID, from SealedSecrets) (signing []string, verifyToken string, err error) {
	open := func(field, sealed string) (string, error) {
		raw, err := base64.StdEncoding.DecodeString(sealed)
		if err != nil {
			return "", fmt.Errorf("open %s: %w", field, err)
		}
		plain, err := keys.Open(SecretPlace(workspace, webhook, field), raw)
		if err != nil {
			return "", fmt.Errorf("open %s: %w", field, err)
		}
		return string(plain), nil
	}
	for _, sealed := range from.GetSealedSecrets() {
		plain, err := open(FieldSecrets, sealed)
		if err != nil {
			return nil, "", err
		}
		signing = append(signing, plain)
	}
	if sealed := from.GetSealedVerifyToken(); sealed != "" {
		if verifyToken, err = open(FieldVerifyToken, sealed); err != nil {
			return nil, "", err
		}
	}
	return signing, verifyToken, nil
}
