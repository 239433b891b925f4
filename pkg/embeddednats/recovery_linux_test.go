package embeddednats_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
)

// breakWrites makes writes to the files of a stream fail, as those to a bad disk do: their descriptors become read-only.
func breakWrites(t *testing.T, stream string) {
	t.Helper()
	descriptors, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	broken := 0
	for _, d := range descriptors {
		path, err := os.Readlink("/proc/self/fd/" + d.Name())
		if err != nil || !strings.Contains(path, "/streams/"+stream+"/msgs/") {
			continue
		}
		var fd int
		_, err = fmt.Sscan(d.Name(), &fd)
		require.NoError(t, err)
		readOnly, err := os.Open(path)
		require.NoError(t, err)
		require.NoError(t, syscall.Dup2(int(readOnly.Fd()), fd))
		require.NoError(t, readOnly.Close())
		broken++
	}
	require.Positive(t, broken)
}

// A stream refuses messages after a failed write. The server restarts by itself when the disk takes writes again. It has all messages
// that it acknowledged, and connections of both kinds find it again.
func TestAFailedWriteDoesNotStopTheServerForEver(t *testing.T) {
	o := options(t)
	o.Listen = "127.0.0.1:0"
	s := start(t, o)
	for name, connect := range map[string]func() (*nats.Conn, error){
		"in process": func() (*nats.Conn, error) {
			return nats.Connect("", nats.InProcessServer(s.InProcess()), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
		},
		"over TCP": func() (*nats.Conn, error) {
			return nats.Connect(s.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
		},
	} {
		t.Run(name, func(t *testing.T) {
			nc, err := connect()
			require.NoError(t, err)
			defer nc.Close()
			js, err := jetstream.New(nc)
			require.NoError(t, err)
			stream := strings.ReplaceAll(name, " ", "_")
			_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: stream, Subjects: []string{stream}})
			require.NoError(t, err)
			acknowledged := uint64(0)
			publish := func() error {
				_, err := js.Publish(t.Context(), stream, []byte("x"))
				if err == nil {
					acknowledged++
				}
				return err
			}
			require.NoError(t, publish())
			breakWrites(t, stream)
			require.Error(t, publish(), "the write failed")
			require.Eventually(t, func() bool { return publish() == nil }, time.Minute, 50*time.Millisecond)
			got, err := js.Stream(t.Context(), stream)
			require.NoError(t, err)
			info, err := got.Info(t.Context())
			require.NoError(t, err)
			require.GreaterOrEqual(t, info.State.Msgs, acknowledged)
		})
	}
	require.True(t, s.SyncAlways())
}

// The messages of a server that stopped after a failed write are there when it starts again.
func TestCloseAfterAFailedWrite(t *testing.T) {
	o := options(t)
	s, err := embeddednats.Start(o)
	require.NoError(t, err)
	nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()))
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "A", Subjects: []string{"a"}})
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "a", []byte("x"))
	require.NoError(t, err)
	breakWrites(t, "A")
	nc.Close()
	require.NoError(t, s.Close())
	start(t, o)
}
