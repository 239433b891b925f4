package redact

import (
	"slices"
	"strings"
)

// Words that mark a header as a credential at any position, and words that do so before "key".
var (
	secretWords = []string{
		"authorization", "apikey", "cookie", "credential", "credentials", "jwt", "passwd", "password", "secret", "session",
		"sessionid", "token",
	}
	keyWords = []string{
		"access", "account", "api", "app", "application", "auth", "client", "functions", "license", "private", "secret", "service",
		"shared", "subscription",
	}
)

// Credential reports whether a header with this name, in lower case, carries a credential. It splits the name into
// words: X-Gitlab-Token and X-Shopify-Access-Token are credentials, X-Hub-Signature and Idempotency-Key are not. A
// signature proves one request and grants no access.
func Credential(name string) bool {
	vocab := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	for i, w := range vocab {
		if slices.Contains(secretWords, w) {
			return true
		}
		if w == "key" && (len(vocab) == 1 || i > 0 && slices.Contains(keyWords, vocab[i-1])) {
			return true
		}
	}
	return false
}
