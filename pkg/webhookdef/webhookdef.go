// Package webhookdef defines the bucket that replicates webhooks to the hooks service, and the encoding of its entries.
//
//	store ─▶ outbox of orchestration ─▶ bucket "webhooks" ─▶ watch of every hooks replica ─▶ memory
//	                                    sha256(slug)   → definition of a webhook
//	                                    account.<uuid> → definition of an account
//
// The key is a digest of the slug: the slug is the secret of a webhook, and readers of the bucket must not learn it.
// The secrets of signatures are encrypted in the definitions.
package webhookdef

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Bucket is the name of the bucket.
const Bucket = "webhooks"

// MaskedSlug replaces the slug for readers who may not know it. No slug has an asterisk.
const MaskedSlug = "********"

// ErrUnreadable is wrapped when an entry is not a definition.
var ErrUnreadable = errors.New("read webhook definition: entry not readable")

// Key returns the bucket key of the webhook with this slug: 64 hexadecimal digits.
func Key(slug string) string {
	digest := sha256.Sum256([]byte(slug))
	return hex.EncodeToString(digest[:])
}

// Encode encodes a definition.
func Encode(d *orchv1.WebhookDefinition) ([]byte, error) {
	entry, err := restjson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode webhook definition: %w", err)
	}
	return entry, nil
}

// Decode decodes a definition. Of two definitions with one key the later one in the bucket is valid.
func Decode(entry []byte) (*orchv1.WebhookDefinition, error) {
	d := &orchv1.WebhookDefinition{}
	if err := restjson.Unmarshal(entry, d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return d, nil
}

// accountPrefix starts the keys of accounts. No digest has a dot.
const accountPrefix = "account."

// AccountKey returns the bucket key of an account.
func AccountKey(account uuid.UUID) string { return accountPrefix + account.String() }

// AccountOf returns the account of a key; false if it is a webhook's key.
func AccountOf(key string) (account string, ok bool) { return strings.CutPrefix(key, accountPrefix) }

// EncodeAccount encodes the definition of an account.
func EncodeAccount(d *orchv1.AccountDefinition) ([]byte, error) {
	entry, err := restjson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode account definition: %w", err)
	}
	return entry, nil
}

// DecodeAccount decodes the definition of an account.
func DecodeAccount(entry []byte) (*orchv1.AccountDefinition, error) {
	d := &orchv1.AccountDefinition{}
	if err := restjson.Unmarshal(entry, d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return d, nil
}
