package webhookdef

import (
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/secrets"
)

// The fields of a webhook that are sealed.
const (
	FieldSecrets     = "webhook.secrets"
	FieldVerifyToken = "webhook.verify_token" //nolint:gosec // The name of a field.
)

// SecretPlace is where a webhook's secret is sealed for, in the store and in the bucket alike.
func SecretPlace(workspace, webhook uuid.UUID, field string) secrets.Place {
	return secrets.Place{Workspace: workspace, Document: webhook, Field: field}
}

// SealedSecrets are a webhook or a definition of one, both of which carry its secrets sealed.
type SealedSecrets interface {
	GetSealedSecrets() []string
	GetSealedVerifyToken() string
}

// OpenSecrets opens what a webhook knows its senders by: the secrets of its signatures, and the verify token, which is
// empty where there is none.
func OpenSecrets(keys secrets.Keyring, workspace, webhook uuid.UUID, of SealedSecrets) (signing []string, verifyToken string, err error) {
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
	for _, sealed := range of.GetSealedSecrets() {
		plain, err := open(FieldSecrets, sealed)
		if err != nil {
			return nil, "", err
		}
		signing = append(signing, plain)
	}
	if sealed := of.GetSealedVerifyToken(); sealed != "" {
		if verifyToken, err = open(FieldVerifyToken, sealed); err != nil {
			return nil, "", err
		}
	}
	return signing, verifyToken, nil
}
