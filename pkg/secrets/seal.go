package secrets

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Errors of sealing and opening. All of them are for an operator: no input of a client causes them.
var (
	// ErrNoKey means that there is no key to seal with.
	ErrNoKey = errors.New("no key to seal secrets with: set ORCH_SECRETS_KEY")
	// ErrUnknownKey means that this process does not have the key of a sealed secret.
	ErrUnknownKey = errors.New("sealed with a key that is not in ORCH_SECRETS_KEY")
	// ErrDamaged means that a sealed secret was changed, truncated, or moved from another place.
	ErrDamaged = errors.New("sealed secret is damaged, or belongs to another place")
)

// FieldRef is the location of a sealed secret. It can be opened only there.
type FieldRef struct {
	Workspace uuid.UUID
	// Document is the id of the document with the secret.
	Document uuid.UUID
	// Field names the kind of document and the field of the secret: "block_document.data".
	Field string
}

// sealedVersion is the first byte of a sealed secret.
const sealedVersion = 1

// header is the length of the part before the nonce.
const header = 1 + len(keyID{})

// bound returns the authenticated data: the plain header and the place. All parts but the last have fixed lengths, so
// two places never have the same bytes.
func (p FieldRef) bound(head []byte) []byte {
	data := make([]byte, 0, len(head)+2*len(p.Workspace)+len(p.Field))
	data = append(data, head...)
	data = append(data, p.Workspace[:]...)
	data = append(data, p.Document[:]...)
	return append(data, p.Field...)
}

// Seal encrypts a secret for a place with the first key. Every result is different, because the nonce is random.
func (r Keyring) Seal(at FieldRef, secret []byte) ([]byte, error) {
	if r.Empty() {
		return nil, fmt.Errorf("seal %s: %w", at.Field, ErrNoKey)
	}
	first := r.keys[0]
	sealed := make([]byte, 0, header+first.aead.Overhead()+len(secret))
	sealed = append(append(sealed, sealedVersion), first.id[:]...)
	return first.aead.Seal(sealed, nil, secret, at.bound(sealed)), nil //nolint:gosec // This AEAD draws the nonce itself.
}

// Open decrypts a secret of a place, with the key that sealed it.
func (r Keyring) Open(at FieldRef, sealed []byte) ([]byte, error) {
	if len(sealed) < header || sealed[0] != sealedVersion {
		return nil, fmt.Errorf("open %s of %s: %w", at.Field, at.Document, ErrDamaged)
	}
	head := sealed[:header]
	id := keyID(head[1:])
	k := r.find(id)
	if k == nil {
		return nil, fmt.Errorf("open %s of %s: key %s, available %s: %w", at.Field, at.Document, id, r, ErrUnknownKey)
	}
	secret, err := k.aead.Open(nil, nil, sealed[header:], at.bound(head))
	if err != nil {
		return nil, fmt.Errorf("open %s of %s: %w", at.Field, at.Document, ErrDamaged)
	}
	return secret, nil
}

// Current reports whether a secret is sealed with the first key; otherwise it should be sealed again.
func (r Keyring) Current(sealed []byte) bool {
	return !r.Empty() && len(sealed) >= header && sealed[0] == sealedVersion && keyID(sealed[1:header]) == r.keys[0].id
}

// Reseal returns a secret sealed with the first key, and whether it was sealed with another one before.
func (r Keyring) Reseal(at FieldRef, sealed []byte) (next []byte, changed bool, err error) {
	if r.Current(sealed) {
		return sealed, false, nil
	}
	secret, err := r.Open(at, sealed)
	if err != nil {
		return nil, false, err
	}
	next, err = r.Seal(at, secret)
	return next, err == nil, err
}
