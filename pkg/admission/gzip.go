package admission

import "encoding/binary"

// maxInflation is the largest factor by which DEFLATE decompresses.
const maxInflation = 1032

// GzipLength returns the length that a body has after decompression, as its end says (RFC 1952); the body's own if that is impossible.
// It saves the copies of a buffer that grows, which no other goroutine interrupts.
func GzipLength(body []byte) int64 {
	const trailer = 4
	if len(body) < trailer {
		return int64(len(body))
	}
	length := int64(binary.LittleEndian.Uint32(body[len(body)-trailer:]))
	if length > maxInflation*int64(len(body)) {
		return int64(len(body))
	}
	return length
}
