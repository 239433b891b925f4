package clientversion

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// API is an API version, such as 0.8.4. The zero API means that the client states none, which selects the newest.
type API [3]int64

// ParseAPI parses three integers with dots; ok is false for any other text. Integers beyond 64 bits count as the largest.
func ParseAPI(text string) (v API, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return API{}, false
		}
		v[i] = n
	}
	return v, true
}

// Compare is negative if v is older than o, and positive if it is newer. It does not treat the zero API specially.
func (v API) Compare(o API) int { return slices.Compare(v[:], o[:]) }

// Before reports whether a client with version v is older than o.
func (v API) Before(o API) bool { return v != API{} && v.Compare(o) < 0 }
