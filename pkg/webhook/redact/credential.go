package redact

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// secretWords mark a name as a credential at any position, and keyWords before "key". secretEndings do so at the end of a
// longer word: accesstoken.
var (
	secretWords = []string{
		"access", "apikey", "assertion", "auth", "authorization", "bearer", "cookie", "credential", "hmac", "jwt", "otp", "pass", "passcode",
		"passphrase", "passwd", "password", "pin", "pwd", "secret", "session", "sessionid", "ticket", "token", "totp",
	}
	keyWords = []string{
		"access", "account", "api", "app", "application", "auth", "client", "functions", "license", "private", "secret", "service",
		"shared", "subscription",
	}
	secretEndings = []string{"apikey", "authorization", "cookie", "credential", "passwd", "password", "secret", "secretkey", "token"}
	// In addresses even these lone words are credentials, and the last word of X-Amz-Signature: who has a signed address may use it.
	queryWords     = []string{"code", "key"}
	signatureWords = []string{"sig", "signature"}
)

// Credential reports whether a header or a field with this name carries a credential. It splits the name into words:
// X-Gitlab-Token, accessToken and X-Shopify-Access-Token are credentials, X-Hub-Signature and Idempotency-Key are not. A
// signature proves one request and grants no access.
func Credential(name string) bool {
	words := words(name)
	for i, w := range words {
		one := strings.TrimSuffix(w, "s")
		if slices.Contains(secretWords, w) || slices.Contains(secretWords, one) ||
			slices.ContainsFunc(secretEndings, func(end string) bool { return strings.HasSuffix(one, end) }) {
			return true
		}
		if w == "key" && (len(words) == 1 || i > 0 && slices.Contains(keyWords, words[i-1])) {
			return true
		}
	}
	return false
}

// words splits a name at signs and before capital letters.
func words(name string) []string {
	var separated strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			separated.WriteByte(' ')
		}
		separated.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.FieldsFunc(separated.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Query returns a query string with the values of credentials masked, by their decoded names.
func Query(query string) string {
	if query == "" {
		return ""
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, _, ok := strings.Cut(pair, "=")
		decoded, err := url.QueryUnescape(name)
		if err != nil {
			decoded = name
		}
		words := words(decoded)
		if ok && (Credential(decoded) || len(words) == 1 && slices.Contains(queryWords, words[0]) ||
			len(words) > 0 && slices.Contains(signatureWords, words[len(words)-1])) {
			pairs[i] = name + "=" + Mask
		}
	}
	return strings.Join(pairs, "&")
}
