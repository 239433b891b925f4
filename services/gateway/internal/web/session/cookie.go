package session

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"
)

// Names of the cookies. Over HTTPS the prefix __Host- keeps other hosts of the domain from setting them.
const (
	cookieName = "orch"
	formCookie = "orch-form"
	hostPrefix = "__Host-"
)

// FormField is the form field with the token against cross-site request forgery.
const FormField = "form_token"

func named(name string, secure bool) string {
	if secure {
		return hostPrefix + name
	}
	return name
}

// Token returns the session token of a request, empty without one.
func Token(r *http.Request, secure bool) string {
	cookie, err := r.Cookie(named(cookieName, secure))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// SetToken sends the session cookie. An empty token removes it.
func SetToken(w http.ResponseWriter, token string, secure bool) {
	age := int(maxAge / time.Second)
	if token == "" {
		age = -1
	}
	setCookie(w, cookieName, token, age, secure)
}

func setCookie(w http.ResponseWriter, name, value string, age int, secure bool) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Over plain HTTP a browser would not keep a Secure cookie.
		Name: named(name, secure), Value: value, Path: "/", MaxAge: age,
		Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// FormToken returns the token that the forms of a page carry. It derives from the session's token, or without a session
// from a random cookie, which it sends if the browser has none.
func FormToken(w http.ResponseWriter, r *http.Request, secure bool) string {
	secret := formSecret(r, secure)
	if secret == "" {
		random := make([]byte, tokenBytes)
		_, _ = rand.Read(random) // It never returns an error: the process ends instead.
		secret = base64.RawURLEncoding.EncodeToString(random)
		setCookie(w, formCookie, secret, int(maxAge/time.Second), secure)
	}
	return mask(derive(secret))
}

// mask hides the token behind a random pad, so that compressed pages of one session do not repeat it (BREACH).
func mask(token []byte) string {
	pad := make([]byte, len(token), 2*len(token))
	_, _ = rand.Read(pad) // It never returns an error: the process ends instead.
	for i, c := range token {
		pad = append(pad, c^pad[i])
	}
	return base64.RawURLEncoding.EncodeToString(pad)
}

// unmask returns the token behind its pad, nil for a malformed text.
func unmask(text string) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 2*sha256.Size {
		return nil
	}
	token := make([]byte, sha256.Size)
	for i := range token {
		token[i] = raw[i] ^ raw[sha256.Size+i]
	}
	return token
}

func formSecret(r *http.Request, secure bool) string {
	if token := Token(r, secure); token != "" {
		return token
	}
	if cookie, err := r.Cookie(named(formCookie, secure)); err == nil {
		return cookie.Value
	}
	return ""
}

func derive(secret string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("form"))
	return mac.Sum(nil)
}

// ValidForm reports whether a submitted form carries the token of its browser.
func ValidForm(r *http.Request, token string, secure bool) bool {
	secret := formSecret(r, secure)
	return secret != "" && hmac.Equal(unmask(token), derive(secret))
}

type contextKey struct{}

// With returns a context with the session that authenticates a request for a page.
func With(ctx context.Context, session Session) context.Context {
	return context.WithValue(ctx, contextKey{}, session)
}

// From returns the session of a request for a page. There is none below /api.
func From(ctx context.Context) (Session, bool) {
	session, ok := ctx.Value(contextKey{}).(Session)
	return session, ok
}
