// Package webhookdef names the bucket through which webhooks reach the hooks service, and how they are written in it.
//
//	store ─▶ outbox of orchestration ─▶ bucket "webhooks" ─▶ watch of every hooks replica ─▶ memory
//	                                    sha256(slug)   → definition of a webhook
//	                                    account.<uuid> → definition of an account
//
// The key is a digest of the slug: the slug is the secret of a webhook, and whoever reads the bucket must not learn it.
// What webhooks verify signatures with is sealed in their definitions.
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

// ErrUnreadable is wrapped when an entry is no definition.
var ErrUnreadable = errors.New("read webhook definition: entry not readable")

// Key is the key under which the webhook with this slug is found: 64 hexadecimal digits.
func Key(slug string) string {
	digest := sha256.Sum256([]byte(slug))
	return hex.EncodeToString(digest[:])
}

// Encode writes a definition.
func Encode(d *orchv1.WebhookDefinition) ([]byte, error) {
	entry, err := restjson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("write a webhook's definition: %w", err)
	}
	return entry, nil
}

// Decode reads a definition. Of two definitions under one key the one with the greater revision is right.
func Decode(entry []byte) (*orchv1.WebhookDefinition, error) {
	d := &orchv1.WebhookDefinition{}
	if err := restjson.Unmarshal(entry, d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return d, nil
}

// accountPrefix begins the keys of accounts. No digest has a dot.
const accountPrefix = "account."

// AccountKey is the key under which an account is found.
func AccountKey(account uuid.UUID) string { return accountPrefix + account.String() }

// AccountOf is the account that a key is of; false when it is a webhook's key.
func AccountOf(key string) (account string, ok bool) { return strings.CutPrefix(key, accountPrefix) }

// EncodeAccount writes the definition of an account.
func EncodeAccount(d *orchv1.AccountDefinition) ([]byte, error) {
	entry, err := restjson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("write an account's definition: %w", err)
	}
	return entry, nil
}

// DecodeAccount reads the definition of an account.
func DecodeAccount(entry []byte) (*orchv1.AccountDefinition, error) {
	d := &orchv1.AccountDefinition{}
	if err := restjson.Unmarshal(entry, d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return d, nil
}
