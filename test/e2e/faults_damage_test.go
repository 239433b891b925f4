//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// damage changes the content of a file.
type damage struct {
	name   string
	change func(content []byte) []byte
}

var damages = []damage{
	{"bit flipped", func(b []byte) []byte { b[len(b)*2/3] ^= 0x08; return b }},
	{"cut off", func(b []byte) []byte { return b[:len(b)/2] }},
}

// damagedFiles are the files that faults of a disk damage: the pattern of one of each kind, below the data directory.
var damagedFiles = []struct{ name, pattern string }{
	{"table of the store", "store/*.sst"},
	{"log of the store", "store/*.log"},
	{"messages of JetStream", "nats/jetstream/*/streams/EVENTS/msgs/*.blk"},
	{"stream of JetStream", "nats/jetstream/*/streams/EVENTS/meta.inf"},
}

// TestFaultsOfFiles damages the files of a server: after it stopped, after it was killed, and while it runs. Damage is reported by
// the server or by the doctor, who names what is lost and makes a sound directory with a backup. No damaged document is returned.
func TestFaultsOfFiles(t *testing.T) {
	scale := requireFaultScale(t)
	if scale.short {
		t.Parallel()
	}
	dir, backup := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backup")
	o := StartSingleAt(t, programs, dir, FreeAddress(t))
	client := &Client{HTTP: &http.Client{Timeout: 15 * time.Second}, Ledger: NewLedger()}
	t.Cleanup(client.HTTP.CloseIdleConnections)
	slug, err := client.CreateWebhook(t.Context(), o, "damage")
	require.NoError(t, err)
	var flow struct{ ID string }
	_, err = client.post(t.Context(), o.API()+"/flows/", map[string]any{"name": "damage"}, &flow)
	require.NoError(t, err)
	request := func(from, n int) {
		for i := range n {
			client.Deliver(t.Context(), o, slug, fmt.Sprint(from+i))
			client.Publish(t.Context(), o, "published")
			client.SetState(t.Context(), o, client.CreateRun(t.Context(), o, flow.ID), "RUNNING")
		}
	}
	client.Ledger.Begin("in the backup")
	request(0, 150)
	runOrch(t.Context(), t, 0, "backup", backup, "--data-dir", dir)
	client.Ledger.Begin("since the backup")
	request(150, 150)

	images := map[string]string{"killed": filepath.Join(t.TempDir(), "killed"), "stopped": filepath.Join(t.TempDir(), "stopped")}
	wait(t.Context(), 3*time.Second) // Older documents are known to have been stored.
	o.Kill()
	copyData(t, dir, images["killed"])
	require.NoError(t, o.Processes[0].Restart())
	o.WaitReady(t)
	o.Stop(t)
	copyData(t, dir, images["stopped"])

	for _, state := range []string{"stopped", "killed"} {
		if scale.short && state == "stopped" {
			continue
		}
		for _, file := range damagedFiles {
			for _, d := range damages {
				t.Run(fmt.Sprintf("%s, %s, %s", file.name, d.name, state), func(t *testing.T) {
					damagedFile{t: t, client: client, pattern: file.pattern, damage: d, running: false}.meet(images[state], backup)
				})
			}
		}
	}
	for _, file := range damagedFiles[:3] {
		t.Run(file.name+", bit flipped, running", func(t *testing.T) {
			damagedFile{t: t, client: client, pattern: file.pattern, damage: damages[0], running: true}.meet(images["killed"], backup)
		})
	}
}

// copyData copies a data directory without its socket.
func copyData(t *testing.T, from, to string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// runOrch runs a command that must end with a status, and returns its output.
func runOrch(ctx context.Context, t *testing.T, status int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, programs.Path("orch"), args...)
	out, _ := cmd.CombinedOutput()
	require.Equal(t, status, cmd.ProcessState.ExitCode(), "orch %v: %s", args, out)
	return string(out)
}

// damagedFile is a server one of whose files is damaged.
type damagedFile struct {
	t       *testing.T
	client  *Client
	pattern string
	damage  damage
	running bool
}

// meet damages a copy of a data directory, and checks what the server, the doctor and the repair make of it.
func (d damagedFile) meet(image, backup string) {
	t := d.t
	dir := filepath.Join(t.TempDir(), "data")
	copyData(t, image, dir)
	damaged := ""
	if !d.running {
		damaged = d.apply(dir)
	}
	name := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestFaultsOfFiles/"), "_", " ")
	row := FaultRow{Fault: name, Form: "one process", Acknowledged: d.client.Ledger.Acknowledged()}
	p := Start(t, "orch server", []string{"ORCH_INTERNAL_LISTEN=127.0.0.1:0", "ORCH_LOG_FORMAT=json"},
		programs.Path("orch"), "server", "--data-dir", dir, "--listen", FreeAddress(t))
	if url := listening(t, p); url != "" {
		o := &Orch{URL: url, Processes: []*Process{p}}
		if d.running {
			damaged = d.apply(dir)
		}
		row.Damaged = d.served(o)
		o.Stop(t)
	} else {
		require.Contains(t, p.Output(), "orch doctor", "the server says what to do")
		row.Remark = "refused at the start"
	}

	cmd := exec.CommandContext(t.Context(), programs.Path("orch"), "doctor", "--data-dir", dir)
	found, _ := cmd.CombinedOutput()
	repaired := filepath.Join(t.TempDir(), "repaired")
	named := runOrch(t.Context(), t, 0, "doctor", "--data-dir", dir, "--repair", repaired, "--backup", backup, "--verbose")
	runOrch(t.Context(), t, 0, "doctor", "--data-dir", repaired)
	o := StartSingleAt(t, programs, repaired, FreeAddress(t))
	ctx, cancel := context.WithTimeout(t.Context(), doneWithin)
	defer cancel()
	verdict, err := d.client.Check(ctx, o, 5*time.Second)
	require.NoError(t, err)
	row.Damaged += len(verdict.Damaged)
	missing := len(verdict.Lost)
	if missing > 0 && cmd.ProcessState.ExitCode() != 0 && namesLoss.MatchString(named) {
		row.Remark = strings.TrimPrefix(row.Remark+fmt.Sprintf(", %d lost and named", missing), ", ")
	} else {
		row.Lost = missing // Lost without a word.
	}
	row.Doubled = len(verdict.Twice)
	if row.Lost > 0 {
		t.Logf("damaged %s; the doctor:\n%s\nthe repair:\n%s", damaged, found, named)
	}
	require.Zero(t, verdict.LostIn["in the backup"], "documents of the backup are lost:\n%s", named)
	faultTable.Add(t, row)
}

// namesLoss matches the output of a repair that names what is lost or older.
var namesLoss = regexp.MustCompile(`(?m)^(damaged|lost|from backup) `)

// apply damages the largest of the files, and returns its path.
func (d damagedFile) apply(dir string) string {
	paths, err := filepath.Glob(filepath.Join(dir, d.pattern))
	require.NoError(d.t, err)
	require.NotEmpty(d.t, paths, d.pattern)
	size := func(path string) int64 {
		info, err := os.Stat(path)
		require.NoError(d.t, err)
		return info.Size()
	}
	largest := slices.MaxFunc(paths, func(a, b string) int { return int(size(a) - size(b)) })
	if size(largest) == 0 {
		return largest
	}
	content, err := os.ReadFile(largest)
	require.NoError(d.t, err)
	f, err := os.OpenFile(largest, os.O_WRONLY, 0) // A running server has it open.
	require.NoError(d.t, err)
	changed := d.damage.change(content)
	_, err = f.WriteAt(changed, 0)
	require.NoError(d.t, err)
	require.NoError(d.t, f.Truncate(int64(len(changed))))
	require.NoError(d.t, f.Close())
	return largest
}

// listening waits until a server is ready, and returns its address; empty if it ended.
func listening(t *testing.T, p *Process) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	line, err := p.Line(ctx, "dashboard")
	if err != nil {
		require.NoError(t, ctx.Err(), "the server neither works nor ends")
		return ""
	}
	return strings.TrimSuffix(line, "/")
}

// served reads what the server returns, and counts the documents that are not as they were written. An error is an answer: nothing is
// returned.
func (d damagedFile) served(o *Orch) int {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), doneWithin)
	defer cancel()
	verdict, err := d.client.check(ctx, o)
	if err != nil {
		d.t.Logf("reads of damaged data fail: %v", err)
	}
	return len(verdict.Damaged)
}
