package broker

import "sync"

// chunkSize is the size in bytes of the memory that consumers reuse for frames. Larger frames get memory of their own.
const chunkSize = 128 << 10

type chunk [chunkSize]byte

// idleChunks holds chunks for all consumers.
var idleChunks = sync.Pool{New: func() any { return new(chunk) }}

// frameMemory is where a consumer that reuses memory decompresses the frames of one batch after another. Frames follow each other
// in chunks. The zero value is empty.
type frameMemory struct {
	chunks []*chunk
	used   int // Bytes of the last chunk.
}

// take returns an empty buffer for n bytes; a nil memory returns one that its frame owns.
func (m *frameMemory) take(n int) []byte {
	if m == nil || n > chunkSize {
		return make([]byte, 0, n)
	}
	if len(m.chunks) == 0 || n > chunkSize-m.used {
		m.chunks = append(m.chunks, idleChunks.Get().(*chunk))
		m.used = 0
	}
	from := m.used
	m.used += n
	return m.chunks[len(m.chunks)-1][from:from:m.used]
}

// reset ends the use of all buffers, or of all but the last one.
func (m *frameMemory) reset(keepLast bool) {
	last := len(m.chunks)
	if keepLast && last > 0 {
		last--
	}
	for i, c := range m.chunks[:last] {
		idleChunks.Put(c)
		m.chunks[i] = nil
	}
	m.chunks = append(m.chunks[:0], m.chunks[last:]...)
	if len(m.chunks) == 0 {
		m.used = 0
	}
}
