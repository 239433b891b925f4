package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frame makes a frame of an opcode around a body; the length is right unless overwritten.
func frame(op uint32, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(16+len(body)))
	b = binary.LittleEndian.AppendUint32(b, 7)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, op)
	return append(b, body...)
}

func msg(flags uint32, sections ...[]byte) []byte {
	return frame(opMsg, append(binary.LittleEndian.AppendUint32(nil, flags), bytes.Join(sections, nil)...))
}

func body(d value.Doc) []byte { return append([]byte{0}, d...) }

func sequence(name string, docs ...value.Doc) []byte {
	var b []byte
	b = append(append(b, name...), 0)
	for _, d := range docs {
		b = append(b, d...)
	}
	return append(binary.LittleEndian.AppendUint32([]byte{1}, uint32(4+len(b))), b...)
}

var ping = value.DocOf(bson.D{{Key: "ping", Value: 1}, {Key: "$db", Value: "admin"}})

func TestRead(t *testing.T) {
	t.Parallel()
	m, err := Read(bytes.NewReader(msg(0, body(ping), sequence("documents", ping, value.EmptyDoc))))
	require.NoError(t, err)
	require.Equal(t, ping, m.Body)
	require.Equal(t, map[string][]value.Doc{"documents": {ping, value.EmptyDoc}}, m.Sequences)
	require.False(t, m.NoReply)
	m, err = Read(bytes.NewReader(msg(flagMoreToCome|flagChecksum, body(ping), []byte{1, 2, 3, 4})))
	require.NoError(t, err)
	require.True(t, m.NoReply)
	q := append([]byte{0, 0, 0, 0}, "admin.$cmd\x00\x00\x00\x00\x00\xff\xff\xff\xff"...)
	m, err = Read(bytes.NewReader(frame(opQuery, append(q, ping...))))
	require.NoError(t, err)
	require.Equal(t, "admin", m.DB)
	var written bytes.Buffer
	require.NoError(t, m.WriteReply(&written, ping))
	reply := written.Bytes()
	require.EqualValues(t, len(reply), binary.LittleEndian.Uint32(reply))
	require.EqualValues(t, opReply, binary.LittleEndian.Uint32(reply[12:]))
}

// The memory of a released message serves later ones of its size, whose documents are their own.
func TestReleasedMemory(t *testing.T) {
	t.Parallel()
	for i, size := range []int{10, minFrame, 3 * minFrame, minFrame, maxFrame + 1, 10, 4 * minFrame, 40 * minFrame, minFrame + 1} {
		d := value.DocOf(bson.D{{Key: "insert", Value: strings.Repeat(string(rune('a'+i)), size)}})
		m, err := Read(bytes.NewReader(msg(0, body(d), sequence("documents", ping))))
		require.NoError(t, err)
		require.Equal(t, d, m.Body)
		require.Equal(t, []value.Doc{ping}, m.Sequences["documents"])
		require.LessOrEqual(t, cap(m.frame), max(4*size, 2*minFrame), "a small message holds no large memory")
		m.Release()
	}
}

func TestHostileFrames(t *testing.T) {
	t.Parallel()
	long := msg(0, body(ping))
	binary.LittleEndian.PutUint32(long, MaxMessage+1)
	negative := msg(0, body(ping))
	binary.LittleEndian.PutUint32(negative, 0xffffffff)
	short := msg(0, body(ping))
	binary.LittleEndian.PutUint32(short, 20)
	deep := value.EmptyDoc
	for range 300 {
		deep = value.NewBuilder().Add("a", value.OfDoc(deep)).Done()
	}
	bad := bytes.Clone(ping)
	bad[5] = 0xff
	for name, b := range map[string][]byte{
		"too long": long, "negative length": negative, "cut short": short, "no body": msg(0), "two bodies": msg(0, body(ping), body(ping)),
		"unknown opcode": frame(1234, body(ping)), "compressed": frame(opCompressed, body(ping)), "unknown flag": msg(1<<5, body(ping)),
		"unknown section": msg(0, []byte{9}), "deep nesting": msg(0, body(deep)), "broken key": msg(0, body(bad)),
		"sequence beyond the frame": msg(0, body(ping), []byte{1, 0xff, 0xff, 0, 0, 'a', 0}), "sequence twice": msg(0, body(ping), sequence("a"), sequence("a")),
		"query on a collection": frame(opQuery, append([]byte("\x00\x00\x00\x00db.coll\x00\x00\x00\x00\x00\x00\x00\x00\x00"), ping...)),
		"query cut":             frame(opQuery, []byte("\x00\x00\x00\x00admin.$cmd\x00\x00")),
		"promise of more":       msg(0, body(ping))[:20],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(bytes.NewReader(b))
			require.Error(t, err)
		})
	}
}

// TestLengthAloneAllocatesNothing reads a frame that announces the maximum and never comes.
func TestLengthAloneAllocatesNothing(t *testing.T) {
	b := frame(opMsg, make([]byte, 8))
	binary.LittleEndian.PutUint32(b, MaxMessage)
	n := testing.Benchmark(func(tb *testing.B) {
		for range tb.N {
			if _, err := Read(bytes.NewReader(b)); err == nil {
				tb.Fatal("read")
			}
		}
	}).AllocedBytesPerOp()
	require.Less(t, n, int64(2<<20))
}

func FuzzRead(f *testing.F) {
	f.Add(msg(0, body(ping), sequence("documents", ping)))
	f.Add(frame(opQuery, append([]byte("\x00\x00\x00\x00admin.$cmd\x00\x00\x00\x00\x00\x00\x00\x00\x00"), ping...)))
	f.Add(msg(flagChecksum, body(ping), []byte{1, 2, 3, 4}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		for {
			m, err := Read(r)
			if err != nil {
				return
			}
			require.NoError(t, value.Validate(m.Body))
			for _, ds := range m.Sequences {
				for _, d := range ds {
					require.NoError(t, value.Validate(d))
				}
			}
			if err := m.WriteReply(io.Discard, m.Body); err != nil {
				t.Fatal(err)
			}
		}
	})
}
