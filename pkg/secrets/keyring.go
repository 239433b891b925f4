package secrets

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// KeySize is the length of a key in bytes.
const KeySize = 32

// ErrKeys means that a setting or a file has no usable keys.
var ErrKeys = errors.New("keys must be 32 random bytes each, in base64, with commas or line breaks between them")

// Keyring holds keys; the first one seals. The zero value has none. A Keyring is immutable and safe for concurrent use.
// Every formatted form shows only the ids of the keys.
type Keyring struct {
	keys []key
}

// key is an initialised key.
type key struct {
	id   keyID
	aead cipher.AEAD
}

// keyID identifies a key. It is derived from the key and reveals nothing about it.
type keyID [8]byte

func (id keyID) String() string { return hex.EncodeToString(id[:]) }

// NewKey generates a key in the form that [Parse] parses.
func NewKey() string {
	raw := make([]byte, KeySize)
	_, _ = rand.Read(raw) // It never fails: without randomness the process ends.
	return base64.StdEncoding.EncodeToString(raw)
}

// Parse parses keys in base64, separated by commas or white space; it ignores lines that start with #. A text without
// keys returns an empty Keyring. The error does not repeat the text.
func Parse(text string) (Keyring, error) {
	var ring Keyring
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, field := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' }) {
			k, err := parseKey(field)
			if err != nil {
				return Keyring{}, fmt.Errorf("parse key %d: %w", len(ring.keys)+1, err)
			}
			if ring.find(k.id) != nil {
				return Keyring{}, fmt.Errorf("parse key %d: duplicate: %w", len(ring.keys)+1, ErrKeys)
			}
			ring.keys = append(ring.keys, k)
		}
	}
	return ring, nil
}

func parseKey(field string) (key, error) {
	raw, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(field, "="))
	if err != nil {
		return key{}, fmt.Errorf("not base64: %w", ErrKeys)
	}
	if len(raw) != KeySize {
		return key{}, fmt.Errorf("%d bytes: %w", len(raw), ErrKeys)
	}
	if bytes.Equal(raw, bytes.Repeat(raw[:1], KeySize)) {
		return key{}, fmt.Errorf("one byte %d times: %w", KeySize, ErrKeys)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return key{}, fmt.Errorf("use it for AES-256: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return key{}, fmt.Errorf("use it for GCM: %w", err)
	}
	digest := sha256.Sum256(append([]byte("orch secrets key id\x00"), raw...))
	return key{keyID(digest[:8]), aead}, nil
}

// With returns a Keyring with the keys of another one after its own.
func (r Keyring) With(other Keyring) Keyring {
	joined := Keyring{append([]key(nil), r.keys...)}
	for _, k := range other.keys {
		if joined.find(k.id) == nil {
			joined.keys = append(joined.keys, k)
		}
	}
	return joined
}

// Rotating reports whether there are keys beside the first, which only open what they sealed.
func (r Keyring) Rotating() bool { return len(r.keys) > 1 }

// Empty reports whether there are no keys.
func (r Keyring) Empty() bool { return len(r.keys) == 0 }

func (r Keyring) find(id keyID) *key {
	for i := range r.keys {
		if r.keys[i].id == id {
			return &r.keys[i]
		}
	}
	return nil
}

// String returns the ids of the keys.
func (r Keyring) String() string {
	if r.Empty() {
		return "no keys"
	}
	ids := make([]string, len(r.keys))
	for i, k := range r.keys {
		ids[i] = k.id.String()
	}
	return "keys " + strings.Join(ids, ", ")
}

// GoString is String.
func (r Keyring) GoString() string { return r.String() }

// MarshalText is String.
func (r Keyring) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText parses the keys of a setting.
func (r *Keyring) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}
