package value

import (
	"bytes"
	"encoding/binary"
)

// KeyLen returns the length of the first encoding at the start of b, which AppendKey wrote with the same desc.
func KeyLen(b []byte, desc bool) int {
	var x byte
	if desc {
		x = 0xff
	}
	return 1 + payloadLen(b[1:], b[0]^x, x)
}

func payloadLen(b []byte, class, x byte) int {
	switch class {
	case ClassNumber:
		if b[8]^x == 0x80 {
			return 9
		}
		// The digits are inverted for negative numbers, whose double has its top bit clear. The side determines the sign of zero.
		neg := b[0]^x < 0x80
		if isZeroDouble(b, x) {
			neg = b[8]^x == 0x7f
		}
		end := x
		if neg {
			end = ^x
		}
		return 12 + bytes.IndexByte(b[11:], end)
	case ClassString, ClassRegex, ClassDBPointer, ClassCode, ClassCodeScope:
		for i := 0; ; {
			i += bytes.IndexByte(b[i:], x)
			if b[i+1] == x {
				return i + 2
			}
			i += 2
		}
	case ClassObject:
		i := 0
		for b[i] != x {
			c := b[i] ^ x
			i++
			i += bytes.IndexByte(b[i:], x) + 1
			i += payloadLen(b[i:], c, x)
		}
		return i + 1
	case ClassArray:
		i := 0
		for b[i] != x {
			c := b[i] ^ x
			i++
			i += payloadLen(b[i:], c, x)
		}
		return i + 1
	case ClassBinary:
		n := binary.BigEndian.Uint32(b)
		if x != 0 {
			n = ^n
		}
		return 5 + int(n)
	case ClassObjectID:
		return 12
	case ClassBool:
		return 1
	case ClassDate, ClassTimestamp:
		return 8
	}
	return 0
}

func isZeroDouble(b []byte, x byte) bool {
	if b[0]^x != 0x80 {
		return false
	}
	for _, c := range b[1:8] {
		if c^x != 0 {
			return false
		}
	}
	return true
}
