package embeddedmongo_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// childEnv makes the test binary a server process on the directory that it names.
const childEnv = "EMBEDDEDMONGO_TEST_CHILD"

// child serves and writes until it is killed. It prints each write after its acknowledgement: "<id> <rev>".
func child() {
	disk := &brokenFiles{fails: failingCalls[os.Getenv(failingEnv)]}
	s, err := embeddedmongo.Open(os.Getenv(childEnv), embeddedmongo.Options{
		FS: errorfs.Wrap(vfs.Default, disk), Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	sig := make(chan os.Signal, 1)
	if os.Getenv("EMBEDDEDMONGO_TEST_IDLE") != "" {
		signal.Notify(sig, syscall.SIGTERM)
	}
	fmt.Println("ready", os.Getpid())
	if os.Getenv("EMBEDDEDMONGO_TEST_IDLE") != "" {
		<-sig
		s.Close()
		return
	}
	cl := connect(failer{}, s)
	c := cl.Database("d").Collection("runs")
	runIndexes(failer{}, c)
	first, _ := strconv.ParseInt(os.Getenv("EMBEDDEDMONGO_TEST_FIRST"), 10, 64)
	var next atomic.Int64
	next.Store(first)
	out := bufio.NewWriter(os.Stdout)
	ack := newAcknowledged()
	var mu sync.Mutex
	ack.each = func(id, rev int) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, id, rev)
		out.Flush()
	}
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() { ack.write(context.Background(), c, &next) }) //nolint:forbidigo // This is a process of its own.
	}
	if disk.fails != nil {
		ack.wait(500)
		disk.broken.Store(true)
		err := s.Watch(context.Background()) //nolint:forbidigo // This is a process of its own.
		fmt.Fprintln(os.Stderr, "watch:", err)
		fmt.Fprintln(os.Stderr, "close:", s.Close())
		os.Exit(failedStatus)
	}
	wg.Wait()
}

// failer is a testing.TB for the child process: any failure ends it.
type failer struct{ testing.TB }

func (failer) Helper() {}

// Context does not end: a signal ends the process.
func (failer) Context() context.Context { return context.Background() } //nolint:forbidigo // This is a process of its own.

func (failer) Errorf(f string, a ...any) {
	fmt.Printf("error: "+f+"\n", a...)
}
func (failer) FailNow() { os.Exit(1) }

// spawn starts a child on a directory and returns its output's lines.
func spawn(t *testing.T, dir string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), childEnv+"="+dir), env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.True(t, strings.HasPrefix(lines.Text(), "ready "), lines.Text())
	return cmd, lines
}

func TestKillNineLosesNothingAcknowledged(t *testing.T) {
	kills, writes := 20, 5500
	if testing.Short() {
		kills, writes = 3, 500
	}
	dir := t.TempDir()
	acked := map[int]int{}
	total := 0
	for i := range kills {
		cmd, lines := spawn(t, dir, fmt.Sprint("EMBEDDEDMONGO_TEST_FIRST=", i*1_000_000))
		for n := 0; lines.Scan(); n++ {
			var id, rev int
			_, err := fmt.Sscan(lines.Text(), &id, &rev)
			require.NoError(t, err, lines.Text())
			acked[id] = max(rev, acked[id])
			total++
			if n == writes {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait())
	}
	r, err := embeddedmongo.Check(context.WithoutCancel(t.Context()), dir)
	require.NoError(t, err)
	require.True(t, r.OK(), "%v", r)
	_, cl := start(t, dir, embeddedmongo.Options{})
	lost := missing(t, cl.Database("d").Collection("runs"), acked)
	t.Logf("%d kills, %d acknowledged writes to %d documents, %d lost; check: %+v", kills, total, len(acked), lost, r.Collections)
	require.Zero(t, lost)
	require.Greater(t, total, kills*writes)
}

func TestASecondProcessLearnsTheHolder(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := spawn(t, dir, "EMBEDDEDMONGO_TEST_IDLE=1")
	_, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
	require.ErrorIs(t, err, embeddedmongo.ErrInUse)
	require.ErrorContains(t, err, fmt.Sprint(cmd.Process.Pid))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	s, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
	require.NoError(t, err)
	_, err = embeddedmongo.Open(dir, embeddedmongo.Options{})
	require.ErrorIs(t, err, embeddedmongo.ErrInUse)
	require.NoError(t, s.Close())
}
