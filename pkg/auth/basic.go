// Package auth checks the credentials of a request.
//
// Comparisons take constant time: both sides are hashed first, so timing reveals neither the first difference nor the
// length of the secret.
package auth

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// ErrNoPassword reports a setting that does not have the form user:password.
var ErrNoPassword = errors.New("parse basic credentials: expected user:password")

// Basic is one user with a password.
type Basic struct {
	digest    [sha256.Size]byte
	session   func() string
	guessable bool
}

// sessionRounds slow down whoever tests passwords against a stored session digest.
const sessionRounds = 600_000

// newSessionDigest returns the digest that sessions store. It takes some hundred milliseconds, and is the same in every process.
func newSessionDigest(setting string) string {
	key, err := pbkdf2.Key(sha256.New, setting, []byte("orch dashboard session"), sessionRounds, sha256.Size)
	if err != nil {
		panic(fmt.Sprintf("derive the digest of a session: %v", err)) // Only lengths that this call does not have fail.
	}
	return hex.EncodeToString(key)
}

// longPassword is the minimum length of an unguessable password: 64 bits even in hexadecimal digits.
const longPassword = 16

// ParseBasic parses "user:password"; the password may contain colons. The error does not contain the setting.
func ParseBasic(setting string) (Basic, error) {
	user, password, found := strings.Cut(setting, ":")
	if !found || user == "" || password == "" {
		return Basic{}, ErrNoPassword
	}
	return Basic{
		digest: sha256.Sum256([]byte(setting)), guessable: len(password) < longPassword,
		session: sync.OnceValue(func() string { return newSessionDigest(setting) }),
	}, nil
}

// Guessable reports whether the password is too short to withstand an online brute-force attack.
func (b Basic) Guessable() bool { return b.guessable }

// Allows reports whether the Authorization header of the request has the user and the password: in the scheme Basic, or "user:password"
// as a bearer token. Prefect's clients before 3.4 send nothing but a bearer token when they open a websocket.
func (b Basic) Allows(header http.Header) bool {
	if token, ok := Bearer(header); ok {
		return b.AllowsToken(token)
	}
	scheme, encoded, found := strings.Cut(header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Basic") {
		return false
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	return err == nil && b.AllowsToken(string(decoded))
}

// AllowsToken reports whether the token is "user:password", which websocket clients send in their first message.
func (b Basic) AllowsToken(token string) bool {
	digest := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(digest[:], b.digest[:]) == 1
}

// SessionDigest returns a slow digest of "user:password", which sessions of the dashboard store instead of the password. It changes
// with the password.
func (b Basic) SessionDigest() string { return b.session() }

// AllowsDigest reports whether SessionDigest returns this digest.
func (b Basic) AllowsDigest(digest string) bool { return SameDigest(digest, b.session()) }

// Bearer returns the token of an "Authorization: Bearer" header, or false for another scheme.
func Bearer(header http.Header) (token string, ok bool) {
	scheme, token, found := strings.Cut(header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !found || token == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return token, true
}

// Token returns the API key of a request: the token of an "Authorization: Bearer" header, or the password of a Basic
// header, which browsers can prompt for.
func Token(header http.Header) (token string, ok bool) {
	if token, ok = Bearer(header); ok {
		return token, true
	}
	_, token, ok = (&http.Request{Header: header}).BasicAuth()
	return token, ok && token != ""
}

// KeyOfToken returns the API key in the token of a websocket's auth message: the whole token, or the password of
// "user:key", as in a Basic header.
func KeyOfToken(token string) string {
	if _, key, found := strings.Cut(token, ":"); found {
		return key
	}
	return token
}

// Equal compares two secrets in constant time.
func Equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
