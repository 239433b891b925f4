// Package wire reads and writes frames of the MongoDB wire protocol: OP_MSG, and OP_QUERY for the handshake.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// MaxMessage is the largest frame accepted, in bytes.
const MaxMessage = 48000000

const (
	opReply      = 1
	opQuery      = 2004
	opCompressed = 2012
	opMsg        = 2013

	headerLen = 16

	flagChecksum   = 1 << 0
	flagMoreToCome = 1 << 1
)

// Errors of Read. The connection is unusable after any of them.
var (
	ErrFrame      = errors.New("malformed frame")
	ErrCompressed = errors.New("compressed frames are not supported: no compressor was offered")
)

// Message is a command: its document, and the document sequences sent beside it.
type Message struct {
	RequestID int32
	Body      value.Doc
	Sequences map[string][]value.Doc
	NoReply   bool // The sender expects no reply.
	legacy    bool // It arrived as OP_QUERY; the reply is an OP_REPLY.
	DB        string
	// Abandoned is set while the command runs, once its client has closed the connection.
	Abandoned atomic.Bool

	frame []byte // The documents are parts of it.
}

// frames holds *[]byte of released messages.
var frames sync.Pool

// minFrame and maxFrame bound the size of frames whose memory is reused, in bytes.
const (
	minFrame = 32 << 10
	maxFrame = 4 << 20
)

// Release gives the memory of the message to later ones. No document of the message may be in use.
func (m *Message) Release() {
	if b := m.frame; cap(b) >= minFrame && cap(b) <= maxFrame {
		frames.Put(&b)
	}
}

// memory returns memory for a frame of n bytes: that of a released message of about this size, or none.
func memory(n int) []byte {
	if n < minFrame || n > maxFrame {
		return nil
	}
	b, ok := frames.Get().(*[]byte)
	if !ok || cap(*b) < n || cap(*b) > 4*n {
		return nil
	}
	return *b
}

// Read reads one frame of at most MaxMessage bytes and validates its documents.
func Read(r io.Reader) (*Message, error) { return ReadAtMost(r, MaxMessage) }

// ReadAtMost is Read for frames of at most limit bytes.
func ReadAtMost(r io.Reader, limit int) (*Message, error) {
	var h [headerLen]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return nil, err
	}
	n := int(int32(binary.LittleEndian.Uint32(h[:])))
	if n < headerLen+5 || n > limit {
		return nil, fmt.Errorf("%w: length %d", ErrFrame, n)
	}
	body, err := readBody(r, memory(n-headerLen), n-headerLen)
	if err != nil {
		return nil, err
	}
	m := &Message{RequestID: int32(binary.LittleEndian.Uint32(h[4:])), frame: body}
	switch op := binary.LittleEndian.Uint32(h[12:]); op {
	case opMsg:
		err = m.parseMsg(body)
	case opQuery:
		err = m.parseQuery(body)
	case opCompressed:
		err = ErrCompressed
	default:
		err = fmt.Errorf("%w: opcode %d", ErrFrame, op)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// readBody reads n bytes into b, and allocates what b lacks as data arrives, so a large length alone does not make the server
// allocate.
func readBody(r io.Reader, b []byte, n int) ([]byte, error) {
	const step = 1 << 20
	if cap(b) < n {
		b = make([]byte, min(n, step))
	}
	b = b[:min(n, cap(b))]
	for at := 0; ; {
		if _, err := io.ReadFull(r, b[at:]); err != nil {
			return b, err
		}
		if at = len(b); at == n {
			return b, nil
		}
		b = append(b, make([]byte, min(n-at, max(step, at)))...) //nolint:makezero // It grows by what is read next.
	}
}

func (m *Message) parseMsg(b []byte) error {
	flags := binary.LittleEndian.Uint32(b)
	if flags&0xffff&^(flagChecksum|flagMoreToCome) != 0 {
		return fmt.Errorf("%w: flags %#x", ErrFrame, flags)
	}
	m.NoReply = flags&flagMoreToCome != 0
	b = b[4:]
	if flags&flagChecksum != 0 {
		if len(b) < 4 {
			return fmt.Errorf("%w: no room for the checksum", ErrFrame)
		}
		// The protocol allows a server to ignore the checksum; TCP has its own.
		b = b[:len(b)-4]
	}
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		var err error
		switch kind {
		case 0:
			if m.Body != nil {
				return fmt.Errorf("%w: two bodies", ErrFrame)
			}
			m.Body, b, err = takeDoc(b)
		case 1:
			b, err = m.takeSequence(b)
		default:
			err = fmt.Errorf("%w: section kind %d", ErrFrame, kind)
		}
		if err != nil {
			return err
		}
	}
	if m.Body == nil {
		return fmt.Errorf("%w: no body", ErrFrame)
	}
	return nil
}

func (m *Message) takeSequence(b []byte) ([]byte, error) {
	if len(b) < 5 {
		return nil, fmt.Errorf("%w: document sequence", ErrFrame)
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < 5 || n > len(b) {
		return nil, fmt.Errorf("%w: document sequence of length %d", ErrFrame, n)
	}
	seq, rest := b[4:n], b[n:]
	name, seq, err := takeString(seq)
	if err != nil {
		return nil, err
	}
	if m.Sequences == nil {
		m.Sequences = map[string][]value.Doc{}
	}
	if _, twice := m.Sequences[name]; twice {
		return nil, fmt.Errorf("%w: sequence %q twice", ErrFrame, name)
	}
	docs := []value.Doc{}
	for len(seq) > 0 {
		var d value.Doc
		if d, seq, err = takeDoc(seq); err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	m.Sequences[name] = docs
	return rest, nil
}

func takeString(b []byte) (string, []byte, error) {
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), b[i+1:], nil
		}
	}
	return "", nil, fmt.Errorf("%w: string without end", ErrFrame)
}

func takeDoc(b []byte) (value.Doc, []byte, error) {
	if len(b) < 5 {
		return nil, nil, fmt.Errorf("%w: document", ErrFrame)
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < 5 || n > len(b) {
		return nil, nil, fmt.Errorf("%w: document of length %d", ErrFrame, n)
	}
	if err := value.Validate(b[:n]); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return b[:n:n], b[n:], nil
}

// parseQuery reads flags, namespace, skip, limit and the command of an OP_QUERY.
func (m *Message) parseQuery(b []byte) error {
	m.legacy = true
	ns, rest, err := takeString(b[4:])
	if err != nil {
		return err
	}
	if len(rest) < 8 {
		return fmt.Errorf("%w: query", ErrFrame)
	}
	if m.Body, _, err = takeDoc(rest[8:]); err != nil {
		return err
	}
	for i := range ns {
		if ns[i] == '.' {
			if ns[i:] != ".$cmd" {
				return fmt.Errorf("%w: OP_QUERY on %s", ErrFrame, ns)
			}
			m.DB = ns[:i]
			return nil
		}
	}
	return fmt.Errorf("%w: OP_QUERY on %q", ErrFrame, ns)
}

// replyFrames holds *[]byte of frames that were written.
var replyFrames = sync.Pool{New: func() any { return new([]byte) }}

// maxCopied is the size of replies, in bytes, up to which header and document are written together.
const maxCopied = 16 << 10

// WriteReply writes the frame of a reply to the message.
func (m *Message) WriteReply(w io.Writer, d value.Doc) error {
	buffer := replyFrames.Get().(*[]byte)
	defer replyFrames.Put(buffer)
	b := m.appendReplyHeader((*buffer)[:0], len(d))
	*buffer = b
	if len(d) > maxCopied {
		if _, err := w.Write(b); err != nil {
			return err
		}
		_, err := w.Write(d)
		return err
	}
	b = append(b, d...)
	*buffer = b
	_, err := w.Write(b)
	return err
}

// appendReplyHeader appends what precedes the document of a reply of n bytes.
func (m *Message) appendReplyHeader(b []byte, n int) []byte {
	extra := 5
	op := uint32(opMsg)
	if m.legacy {
		extra, op = 20, opReply
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(headerLen+extra+n))
	b = binary.LittleEndian.AppendUint32(b, uint32(m.RequestID)^0x40000000)
	b = binary.LittleEndian.AppendUint32(b, uint32(m.RequestID))
	b = binary.LittleEndian.AppendUint32(b, op)
	if !m.legacy {
		return append(b, 0, 0, 0, 0, 0)
	}
	b = binary.LittleEndian.AppendUint32(b, 8) // Flags: await capable.
	b = append(b, make([]byte, 12)...)         // Cursor, start.
	return binary.LittleEndian.AppendUint32(b, 1)
}
