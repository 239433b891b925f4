package restjson

import (
	"fmt"
	"strings"
)

// ParseUUID reads a UUID with or without hyphens and returns it in lower case with hyphens. A non-empty reason says what is
// wrong.
func ParseUUID(s string) (canonical, reason string) {
	if isCanonicalUUID(s) {
		return s, ""
	}
	for i, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') && (r < 'A' || r > 'F') && r != '-' {
			return "", fmt.Sprintf("invalid character: found `%c` at %d", r, i+1)
		}
	}
	groups := strings.Split(s, "-")
	if len(groups) == 1 {
		if len(s) != 32 {
			return "", fmt.Sprintf("invalid length: expected length 32 for simple format, found %d", len(s))
		}
		groups = []string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}
	}
	if len(groups) != 5 {
		return "", fmt.Sprintf("invalid group count: expected 5, found %d", len(groups))
	}
	for i, want := range [...]int{8, 4, 4, 4, 12} {
		if len(groups[i]) != want {
			return "", fmt.Sprintf("invalid group length in group %d: expected %d, found %d", i, want, len(groups[i]))
		}
	}
	return strings.ToLower(strings.Join(groups, "-")), ""
}

// isCanonicalUUID reports whether s is a UUID in the form that the encoder writes.
func isCanonicalUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
