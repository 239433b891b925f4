package protobson

import "encoding/hex"

// parseUUID reads 32 hexadecimal digits, with all four hyphens or with none.
func parseUUID(s string) (u [16]byte, ok bool) {
	var digits [32]byte
	switch len(s) {
	case 32:
		copy(digits[:], s)
	case 36:
		if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
			return u, false
		}
		copy(digits[:], s[:8])
		copy(digits[8:], s[9:13])
		copy(digits[12:], s[14:18])
		copy(digits[16:], s[19:23])
		copy(digits[20:], s[24:])
	default:
		return u, false
	}
	_, err := hex.Decode(u[:], digits[:])
	return u, err == nil
}

// uuidText is the length of a UUID with hyphens.
const uuidText = 36

// formatUUID writes 16 bytes in lower case with hyphens.
func formatUUID(u []byte) string {
	var s [uuidText]byte
	return string(appendUUID(s[:0], u))
}

func appendUUID(dst, u []byte) []byte {
	dst = append(hex.AppendEncode(dst, u[:4]), '-')
	dst = append(hex.AppendEncode(dst, u[4:6]), '-')
	dst = append(hex.AppendEncode(dst, u[6:8]), '-')
	dst = append(hex.AppendEncode(dst, u[8:10]), '-')
	return hex.AppendEncode(dst, u[10:16])
}
