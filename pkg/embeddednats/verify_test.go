package embeddednats_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
)

// stored are the messages of the stream that written makes.
const stored = 300

// written makes a closed directory with a stream of messages, of which the first 100 are deleted, and a durable consumer.
func written(t *testing.T) string {
	t.Helper()
	o := options(t)
	s, err := embeddednats.Start(o)
	require.NoError(t, err)
	nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()))
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "A", Subjects: []string{"a"}})
	require.NoError(t, err)
	_, err = stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "reader", AckPolicy: jetstream.AckExplicitPolicy})
	require.NoError(t, err)
	for i := range stored {
		m := nats.NewMsg("a")
		m.Header.Set("Number", fmt.Sprint(i))
		m.Data = bytes.Repeat([]byte{byte(i)}, 100+i)
		_, err := js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	for sequence := range uint64(100) {
		require.NoError(t, stream.DeleteMsg(t.Context(), sequence+1))
	}
	nc.Close()
	require.NoError(t, s.Close())
	return o.Dir
}

// messages reads the numbers of all messages, and checks that each is whole.
func messages(t *testing.T, dir string) map[string]bool {
	t.Helper()
	o := options(t)
	o.Dir = dir
	s, err := embeddednats.Start(o)
	require.NoError(t, err)
	nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()))
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	got := map[string]bool{}
	if stream, err := js.Stream(t.Context(), "A"); err == nil {
		info, err := stream.Info(t.Context())
		require.NoError(t, err)
		for sequence := info.State.FirstSeq; sequence <= info.State.LastSeq; sequence++ {
			m, err := stream.GetMsg(t.Context(), sequence)
			if err != nil {
				continue
			}
			var i int
			_, err = fmt.Sscan(m.Header.Get("Number"), &i)
			require.NoError(t, err)
			require.Equal(t, bytes.Repeat([]byte{byte(i)}, 100+i), m.Data)
			got[m.Header.Get("Number")] = true
		}
	}
	nc.Close()
	require.NoError(t, s.Close())
	return got
}

func TestDamagedStreamsAreRefusedAndRepaired(t *testing.T) {
	t.Parallel()
	dir := written(t)
	block := filepath.Join("jetstream", "$G", "streams", "A", "msgs", "1.blk")
	damage, err := embeddednats.Verify(t.Context(), dir)
	require.NoError(t, err)
	require.Empty(t, damage)
	for _, c := range []struct {
		name, file string
		damage     func([]byte) []byte
		left       int // How many of the messages a repair keeps, at least.
	}{
		{"flipped bit", block, func(b []byte) []byte { b[len(b)/2] ^= 4; return b }, 199},
		{"flipped length", block, func(b []byte) []byte { b[2] ^= 4; return b }, 199},
		{"zeros", block, func(b []byte) []byte { clear(b[len(b)/2 : len(b)/2+1000]); return b }, 190},
		{"cut off", block, func(b []byte) []byte { return b[:len(b)/2] }, 10},
		{"last deletion flipped", block, func(b []byte) []byte { b[len(b)-20] ^= 1; return b }, 199},
		{"configuration", filepath.Join("jetstream", "$G", "streams", "A", "meta.inf"), func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			damaged := filepath.Join(t.TempDir(), "damaged")
			require.NoError(t, os.CopyFS(damaged, os.DirFS(dir)))
			content, err := os.ReadFile(filepath.Join(damaged, c.file))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(damaged, c.file), c.damage(content), 0o600))

			found, err := embeddednats.Verify(t.Context(), damaged)
			require.NoError(t, err)
			require.NotEmpty(t, found)
			require.Equal(t, "A", found[0].Stream)
			o := options(t)
			o.Dir = damaged
			_, err = embeddednats.Start(o)
			require.ErrorIs(t, err, embeddednats.ErrDamaged)

			repaired := filepath.Join(t.TempDir(), "repaired")
			named, err := embeddednats.Repair(t.Context(), damaged, repaired)
			require.NoError(t, err)
			require.Equal(t, found, named)
			got := messages(t, repaired)
			require.GreaterOrEqual(t, len(got), c.left)
			require.LessOrEqual(t, len(got), stored-99)
			_, err = embeddednats.Repair(t.Context(), damaged, repaired)
			require.ErrorIs(t, err, os.ErrExist)
		})
	}
	require.Len(t, messages(t, dir), stored-100)
}

// A crash leaves part of a message, which was not acknowledged, at the end of a file.
func TestATornMessageIsNoDamage(t *testing.T) {
	t.Parallel()
	dir := written(t)
	block := filepath.Join(dir, "jetstream", "$G", "streams", "A", "msgs", "1.blk")
	content, err := os.ReadFile(block)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(block, append(content, content[:60]...), 0o600))
	damage, err := embeddednats.Verify(t.Context(), dir)
	require.NoError(t, err)
	require.Empty(t, damage)
	require.Len(t, messages(t, dir), stored-100)
}

// The last messages of a stream are known although the server was killed: it notes every second how far streams have come.
func TestMessagesCutOffAfterACrashAreMissed(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := start(t, o)
	nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()))
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "A", Subjects: []string{"a"}})
	require.NoError(t, err)
	for range 10 {
		_, err := js.Publish(t.Context(), "a", []byte("message"))
		require.NoError(t, err)
	}
	crashed := filepath.Join(t.TempDir(), "crashed")
	block := filepath.Join(crashed, "jetstream", "$G", "streams", "A", "msgs", "1.blk")
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(filepath.Join(o.Dir, "REACHED.json"))
		return err == nil && bytes.Contains(content, []byte(`"sequence":10`))
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, os.CopyFS(crashed, os.DirFS(o.Dir)))
	damage, err := embeddednats.Verify(t.Context(), crashed)
	require.NoError(t, err)
	require.Empty(t, damage)
	info, err := os.Stat(block)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(block, info.Size()/2))
	damage, err = embeddednats.Verify(t.Context(), crashed)
	require.NoError(t, err)
	require.Len(t, damage, 1)
	require.Contains(t, damage[0].Text, "to 10 are missing")
}
