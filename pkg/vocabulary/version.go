package vocabulary

import (
	"slices"
	"strconv"
	"strings"
)

// Version is an API version, such as 0.8.4. The zero Version means that the client requests none, which selects the
// newest.
// newest.
type Version [3]int

// ParseVersion parses "x.y.z"; ok is false for any other text.
func ParseVersion(text string) (v Version, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return Version{}, false
		}
		v[i] = int(n)
	}
	return v, true
}

// Compare is negative if v is older than o, and positive if it is newer. It does not treat the zero Version specially.
func (v Version) Compare(o Version) int { return slices.Compare(v[:], o[:]) }

// Before reports whether a client with version v is older than o.
func (v Version) Before(o Version) bool { return v != Version{} && v.Compare(o) < 0 }
