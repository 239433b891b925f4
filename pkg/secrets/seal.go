package secrets

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// The ways in which a secret does not open. All of them are matters for an operator: nothing that a client sends leads
// here.
var (
	// ErrNoKey means that there is no key to seal with.
	ErrNoKey = errors.New("no key to seal secrets with: set ORCH_SECRETS_KEY")
	// ErrUnknownKey means that a secret was sealed with a key that this process was not given.
	ErrUnknownKey = errors.New("sealed with a key that ORCH_SECRETS_KEY does not hold")
	// ErrDamaged means that a sealed secret was changed, cut, or moved from another place.
	ErrDamaged = errors.New("the sealed secret was damaged, or belongs somewhere else")
)

// Place is where a sealed secret is kept. It opens nowhere else.
type Place struct {
	Workspace uuid.UUID
	// Document is the id of the document that holds the secret.
	Document uuid.UUID
	// Field names the secret in the document, with the kind of document in front: "block_document.data".
	Field string
}

// sealedVersion is the first byte of what is sealed.
const sealedVersion = 1

// header is the length of what precedes the nonce.
const header = 1 + len(keyID{})

// bound is what is authenticated beside the secret: everything that is in clear, and the place. Its parts have fixed
// lengths but for the last, so that two places never give the same bytes.
func (p Place) bound(head []byte) []byte {
	data := make([]byte, 0, len(head)+2*len(p.Workspace)+len(p.Field))
	data = append(data, head...)
	data = append(data, p.Workspace[:]...)
	data = append(data, p.Document[:]...)
	return append(data, p.Field...)
}

// Seal encrypts a secret for a place with the first key. The same secret is sealed differently every time.
func (r Keyring) Seal(at Place, secret []byte) ([]byte, error) {
	if r.Empty() {
		return nil, fmt.Errorf("seal %s: %w", at.Field, ErrNoKey)
	}
	first := r.keys[0]
	sealed := make([]byte, 0, header+first.aead.Overhead()+len(secret))
	sealed = append(append(sealed, sealedVersion), first.id[:]...)
	return first.aead.Seal(sealed, nil, secret, at.bound(sealed)), nil //nolint:gosec // This AEAD draws the nonce itself.
}

// Open decrypts what was sealed for a place, with whichever key it was.
func (r Keyring) Open(at Place, sealed []byte) ([]byte, error) {
	if len(sealed) < header || sealed[0] != sealedVersion {
		return nil, fmt.Errorf("open %s of %s: %w", at.Field, at.Document, ErrDamaged)
	}
	head := sealed[:header]
	id := keyID(head[1:])
	k := r.find(id)
	if k == nil {
		return nil, fmt.Errorf("open %s of %s: key %s, here are %s: %w", at.Field, at.Document, id, r, ErrUnknownKey)
	}
	secret, err := k.aead.Open(nil, nil, sealed[header:], at.bound(head))
	if err != nil {
		return nil, fmt.Errorf("open %s of %s: %w", at.Field, at.Document, ErrDamaged)
	}
	return secret, nil
}

// Current tells whether something was sealed with the key that seals now; what was not is worth sealing again.
func (r Keyring) Current(sealed []byte) bool {
	return !r.Empty() && len(sealed) >= header && sealed[0] == sealedVersion && keyID(sealed[1:header]) == r.keys[0].id
}
