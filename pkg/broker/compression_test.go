package broker

import (
	"bytes"
	"crypto/rand"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

func TestCompression(t *testing.T) {
	t.Parallel()
	s2Header := nats.Header{headerContentEncoding: {encodingS2}}
	frame := bytes.Repeat([]byte(`{"specversion":"1.0"},`), 1000)
	packed, smaller := compress(nil, frame)
	require.True(t, smaller)
	got, err := decompress(nil, s2Header, packed)
	require.NoError(t, err)
	require.Equal(t, frame, got)
	got, err = decompress(nil, nil, frame)
	require.NoError(t, err)
	require.Equal(t, frame, got)

	_, smaller = compress(nil, frame[:minCompressed-1])
	require.False(t, smaller, "small frames stay plain")
	noise := make([]byte, 4<<10)
	_, err = rand.Read(noise)
	require.NoError(t, err)
	_, smaller = compress(packed, noise)
	require.False(t, smaller, "frames that do not shrink stay plain")

	for name, damaged := range map[string]struct {
		header nats.Header
		data   []byte
	}{
		"no length":        {s2Header, nil},
		"no content":       {s2Header, []byte("text")},
		"truncated":        {s2Header, s2.Encode(nil, noise)[:100]},
		"too large":        {s2Header, s2.Encode(nil, make([]byte, maxDecompressed+1))},
		"unknown encoding": {nats.Header{headerContentEncoding: {"gzip"}}, frame},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decompress(nil, damaged.header, damaged.data)
			require.ErrorIs(t, err, errDecompress, name)
		})
	}
}

// TestCompressedFramesOfOneProcess: only frames within a process are compressed, and the buffer is reused.
func TestCompressedFramesOfOneProcess(t *testing.T) {
	t.Parallel()
	frame := bytes.Repeat([]byte("x"), minCompressed)
	remote := &committer{frame: frame}
	data, header := remote.encode()
	require.Equal(t, frame, data)
	require.Empty(t, header.Get(headerContentEncoding))

	k := &committer{frame: frame, cfg: Config{InProcess: inProcess{}}}
	data, header = k.encode()
	require.Equal(t, encodingS2, header.Get(headerContentEncoding))
	got, err := decompress(nil, header, data)
	require.NoError(t, err)
	require.Equal(t, frame, got)
	again, _ := k.encode()
	require.Same(t, &data[0], &again[0])
}

type inProcess struct{ nats.InProcessConnProvider }
