package vocabulary

import (
	"slices"
	"strconv"
	"strings"
)

// Version is a version of the API, such as 0.8.4. The zero Version is that of a client that names none, and means the
// newest.
type Version [3]int

// ParseVersion reads "x.y.z"; ok is false when it is something else.
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

// Compare is negative when v is older than o, and positive when it is newer. It knows nothing of the zero Version.
func (v Version) Compare(o Version) int { return slices.Compare(v[:], o[:]) }

// Before tells whether a client that speaks v speaks an older version than o.
func (v Version) Before(o Version) bool { return v != Version{} && v.Compare(o) < 0 }
