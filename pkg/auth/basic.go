// Package auth checks the credentials that a request carries.
//
// Comparisons take the same time whatever was sent: both sides are hashed first, so that neither the place of the
// first difference nor the length of the secret can be measured.
package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
)

// ErrNoPassword means that a setting is not of the form user:password.
var ErrNoPassword = errors.New("read the user and password: expected user:password")

// Basic is one user with a password.
type Basic struct {
	digest    [sha256.Size]byte
	guessable bool
}

// longPassword is how many characters a password has that is not to be guessed: even in hexadecimal digits 64 bits.
const longPassword = 16

// ParseBasic reads "user:password"; the password may contain colons. The error does not repeat the setting.
func ParseBasic(setting string) (Basic, error) {
	user, password, found := strings.Cut(setting, ":")
	if !found || user == "" || password == "" {
		return Basic{}, ErrNoPassword
	}
	return Basic{digest: sha256.Sum256([]byte(setting)), guessable: len(password) < longPassword}, nil
}

// Guessable tells whether the password is too short to withstand somebody who tries as many as a server answers.
func (b Basic) Guessable() bool { return b.guessable }

// Allows tells whether the request carries the user and the password in its Authorization header.
func (b Basic) Allows(header http.Header) bool {
	scheme, encoded, found := strings.Cut(header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Basic") {
		return false
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	return err == nil && b.AllowsToken(string(decoded))
}

// AllowsToken tells whether the token is "user:password", as websocket clients send it in their first message.
func (b Basic) AllowsToken(token string) bool {
	digest := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(digest[:], b.digest[:]) == 1
}

// Bearer returns the token of an "Authorization: Bearer" header; empty and false for every other scheme.
func Bearer(header http.Header) (token string, ok bool) {
	scheme, token, found := strings.Cut(header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !found || token == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return token, true
}

// Token returns the API key of a request: that of an "Authorization: Bearer" header, or the password of a Basic one,
// which is what a browser can be asked for.
func Token(header http.Header) (token string, ok bool) {
	if token, ok = Bearer(header); ok {
		return token, true
	}
	_, token, ok = (&http.Request{Header: header}).BasicAuth()
	return token, ok && token != ""
}

// Equal compares two secrets in constant time.
func Equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
