package broker

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
)

// Frames between the services of one process are compressed: the events of a frame resemble each other, and client, server and
// disk copy each byte about eight times. Publishers of other deployments send plain frames, because a rolling upgrade has
// consumers of earlier versions. Consumers read both.
const (
	headerContentEncoding = "Content-Encoding"
	encodingS2            = "s2"

	// minCompressed is the size in bytes from which a frame is compressed.
	minCompressed = 1 << 10
	// maxDecompressed bounds a decompressed frame, in bytes: one of several events, or a large one.
	maxDecompressed = MaxFrameBytes + MaxEventBytes
)

// errDecompress means that a compressed frame is damaged, or too large.
var errDecompress = errors.New("decompress frame")

// compress returns the compressed frame in the memory of buffer, or false if it would save less than an eighth.
func compress(buffer, frame []byte) ([]byte, bool) {
	if len(frame) < minCompressed {
		return buffer, false
	}
	buffer = s2.Encode(buffer[:cap(buffer)], frame)
	return buffer, len(buffer) < len(frame)-len(frame)/8
}

// decompress returns the data of a message as it was before compression, in its own or in reused memory.
func decompress(memory *frameMemory, header nats.Header, data []byte) ([]byte, error) {
	encoding := header.Get(headerContentEncoding)
	if encoding == "" {
		return data, nil
	}
	if encoding != encodingS2 {
		return nil, fmt.Errorf("%w: unknown encoding %q", errDecompress, encoding)
	}
	n, err := s2.DecodedLen(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDecompress, err)
	}
	if n > maxDecompressed {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are accepted", errDecompress, n, maxDecompressed)
	}
	frame, err := s2.Decode(memory.take(n), data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDecompress, err)
	}
	return frame, nil
}
