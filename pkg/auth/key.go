package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

// keyBytes is the number of random bytes of an API key.
const keyBytes = 32

var keyAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// keyLength is the number of characters after a key's prefix.
var keyLength = keyAlphabet.EncodedLen(keyBytes)

// NewKey returns an API key: the prefix and 256 random bits. Only its digest may be stored.
func NewKey(prefix string) (key, digest string) {
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // It never returns an error: the process ends instead.
	key = prefix + keyAlphabet.EncodeToString(random)
	return key, Digest(key)
}

// Digest returns the SHA-256 of a key in hexadecimal digits, which is what the store has. Keys are random, so a slow
// hash is unnecessary.
func Digest(key string) string {
	digest := sha256.Sum256([]byte(key))
	return hex.EncodeToString(digest[:])
}

// SameDigest compares two digests in constant time.
func SameDigest(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// KeyShaped reports whether a token has the length and the alphabet of a key with any prefix. Other tokens are rejected
// without a lookup.
func KeyShaped(token string) bool {
	prefix, random, found := strings.Cut(token, "_")
	if !found || len(prefix) != 3 || len(random) != keyLength {
		return false
	}
	for i := range len(random) {
		if c := random[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
