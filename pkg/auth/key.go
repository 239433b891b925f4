package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

// keyBytes is how many random bytes an API key has.
const keyBytes = 32

var keyAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// keyLength is the number of characters behind a key's prefix.
var keyLength = keyAlphabet.EncodedLen(keyBytes)

// NewKey makes an API key: the prefix and 256 random bits. Only its digest is to be stored.
func NewKey(prefix string) (key, digest string) {
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // It never fails: the process ends instead.
	key = prefix + keyAlphabet.EncodeToString(random)
	return key, Digest(key)
}

// Digest is what is stored of a key: SHA-256 in hexadecimal digits. The key is random, so nothing slower is needed.
func Digest(key string) string {
	digest := sha256.Sum256([]byte(key))
	return hex.EncodeToString(digest[:])
}

// SameDigest compares two digests in constant time.
func SameDigest(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// KeyShaped tells whether a token has the length and the letters of a key of any prefix. What has not is refused
// without a look.
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
