package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

// Environment variables of the victims of the crash tests, which are this test binary.
const (
	crashDir = "ORCH_TEST_CRASH_DIR" // Where the victim's broker is; makes the binary a victim.
	crashJam = "ORCH_TEST_CRASH_JAM" // When set, the victim also consumes its events, and gets stuck.
)

// crashVictim runs a broker with publishers until it is killed, and prints the id of every acknowledged event.
func crashVictim(dir string) {
	ctx := context.Background() //nolint:forbidigo // There is no test in this process.
	quiet := slog.New(slog.DiscardHandler)
	s, err := embeddednats.Start(embeddednats.Options{Dir: dir, Logger: quiet})
	if err != nil {
		panic(err)
	}
	c, err := broker.Connect(ctx, broker.Config{InProcess: s.InProcess(), Logger: quiet})
	if err != nil {
		panic(err)
	}
	if os.Getenv(crashJam) != "" {
		go func() {
			panic(c.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{}, func(context.Context, []broker.Event) error {
				select {} // With a batch in work and more fetched ahead.
			}))
		}()
	}
	var out sync.Mutex
	for range 16 {
		go func() {
			for {
				id := uuid.New()
				if err := c.Publisher().Publish(ctx, numbered(id)); err != nil {
					continue
				}
				out.Lock()
				_, err := fmt.Println(id) // One write per line: a kill leaves no half of one that counts.
				out.Unlock()
				if err != nil {
					os.Exit(1) // The test has gone.
				}
			}
		}()
	}
	select {}
}

func numbered(id uuid.UUID) broker.Event {
	return broker.Event{ID: id, Source: "/crash", Type: "test", Workspace: uuid.UUID{1}}
}

// TestKill: the events that a process acknowledged before it was killed are consumed after a restart, three times over one directory.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acknowledged := map[uuid.UUID]bool{}
	for range 3 {
		killVictim(t, dir, acknowledged, 500)
	}

	requireConsumed(t, dir, acknowledged, time.Minute)
}

// TestKillConsumer: the frames that a killed process had in flight are delivered soon after a restart.
func TestKillConsumer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acknowledged := map[uuid.UUID]bool{}
	killVictim(t, dir, acknowledged, 500, crashJam+"=1")
	requireConsumed(t, dir, acknowledged, 20*time.Second) // The ack wait is 5 s. The rest is for a busy machine.
}

// requireConsumed starts the broker again and consumes until all is there that was acknowledged.
func requireConsumed(t *testing.T, dir string, acknowledged map[uuid.UUID]bool, within time.Duration) {
	t.Helper()
	total := len(acknowledged)
	n := testkit.StartNATS(t, embeddednats.Options{Dir: dir})
	c, err := broker.Connect(t.Context(), broker.Config{InProcess: n})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	require.NoError(t, c.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{},
		func(_ context.Context, batch []broker.Event) error {
			for _, e := range batch {
				delete(acknowledged, e.ID)
			}
			if len(acknowledged) == 0 {
				cancel()
			}
			return nil
		}))
	require.Empty(t, acknowledged, "of %d acknowledged events these did not come", total)
}

// killVictim starts a victim, records the events that it acknowledges, and kills it after n.
func killVictim(t *testing.T, dir string, acknowledged map[uuid.UUID]bool, n int, env ...string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	victim := exec.Command(exe)
	victim.Env = append(append(os.Environ(), crashDir+"="+dir), env...)
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	lines := bufio.NewScanner(out)
	killed := false
	for i := 0; lines.Scan(); i++ {
		id, err := uuid.Parse(lines.Text())
		if err != nil {
			require.True(t, killed, "unexpected output %q", lines.Text())
			continue
		}
		acknowledged[id] = true
		if i == n {
			require.NoError(t, victim.Process.Kill())
			killed = true
		}
	}
	require.Error(t, victim.Wait(), "it was killed")
	require.True(t, killed, "it ended by itself")
}
