package redact

import (
	"slices"
	"strings"
)

// Words that make a header's name that of a credential wherever they stand, and words that do so before "key".
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

// Credential tells whether a header field of this name, in lower case, carries what a sender proves itself with. The
// name is split into words, so X-Gitlab-Token and X-Shopify-Access-Token are, X-Hub-Signature and Idempotency-Key are
// not: a signature proves one request and opens nothing.
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
