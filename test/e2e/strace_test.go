//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deliveries is the number of webhooks that are posted one after the other under strace.
const deliveries = 50

// TestSyncBeforeAnswer traces the system calls of the server: between each webhook and its 204 a sync of the stream's
// file completed.
func TestSyncBeforeAnswer(t *testing.T) {
	answers, unsynced := traced(t)
	t.Logf("%d answers, %d without a finished sync before them", answers, unsynced)
	require.Equal(t, deliveries, answers)
	require.Zero(t, unsynced)
}

// TestSyncBeforeAnswerSeesLazySyncing proves that the test above can fail.
func TestSyncBeforeAnswerSeesLazySyncing(t *testing.T) {
	answers, unsynced := traced(t, "ORCH_UNSAFE_NO_SYNC=true")
	t.Logf("%d answers, %d without a finished sync before them", answers, unsynced)
	require.Equal(t, deliveries, answers)
	require.Greater(t, unsynced, deliveries/2)
}

// traced posts webhooks to a server under strace and counts the responses, and those without a preceding sync.
func traced(t *testing.T, env ...string) (answers, unsynced int) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is missing: apt-get install strace")
	}
	trace := filepath.Join(t.TempDir(), "trace")
	p := Start(t, "orch server under strace", append([]string{"ORCH_INTERNAL_LISTEN=127.0.0.1:0", "ORCH_LOG_FORMAT=json"}, env...),
		strace, "-f", "-y", "-s", "16", "-e", "trace=fsync,fdatasync,write,writev", "-o", trace,
		programs.Path("orch"), "server", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0")
	o := ready(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := &Client{HTTP: &http.Client{Transport: &http.Transport{}}, Ledger: NewLedger()}
	defer c.HTTP.CloseIdleConnections()
	slug, err := c.CreateWebhook(ctx, o, "strace")
	require.NoError(t, err)
	for i := range deliveries {
		c.Deliver(ctx, o, slug, fmt.Sprint(i))
	}
	require.Equal(t, deliveries, c.Ledger.Acknowledged())
	// strace does not forward the signal: the server is its child and ends with it.
	require.NoError(t, stopTraced(p))
	return readTrace(t, trace)
}

// stopTraced ends the traced server, so that the trace is complete.
func stopTraced(p *Process) error {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.Pid(), p.Pid()))
	if err != nil {
		return fmt.Errorf("find the traced process: %w", err)
	}
	var pid int
	if _, err := fmt.Sscan(string(children), &pid); err != nil {
		return fmt.Errorf("find the traced process: %w", err)
	}
	child, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find the traced process: %w", err)
	}
	if err := child.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("stop the traced process: %w", err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(30 * time.Second):
		return fmt.Errorf("the traced process %d still runs", pid)
	}
}

var (
	// syncCall is an uninterrupted sync of the stream's file; syncBegun and syncEnded are one that other calls
	// interrupted.
	syncCall  = regexp.MustCompile(`^\d+ +f(data)?sync\(\d+<[^>]*/streams/EVENTS/msgs/[^>]*>\) += 0`)
	syncBegun = regexp.MustCompile(`^(\d+) +f(data)?sync\(\d+<[^>]*/streams/EVENTS/msgs/[^>]*> <unfinished`)
	syncEnded = regexp.MustCompile(`^(\d+) +<\.\.\. f(data)?sync resumed>.*= 0`)
)

// readTrace scans the calls in the order of their ends and looks for a sync since the previous response.
func readTrace(t *testing.T, path string) (answers, unsynced int) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	synced := false
	begun := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case syncCall.MatchString(line):
			synced = true
		case syncBegun.MatchString(line):
			begun[syncBegun.FindStringSubmatch(line)[1]] = true
		case syncEnded.MatchString(line):
			if thread := syncEnded.FindStringSubmatch(line)[1]; begun[thread] {
				delete(begun, thread)
				synced = true
			}
		case strings.Contains(line, `"HTTP/1.1 204`):
			answers++
			if !synced {
				unsynced++
			}
			synced = false
		}
	}
	require.NoError(t, lines.Err())
	return answers, unsynced
}
