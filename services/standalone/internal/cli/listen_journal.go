package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/atomicfile"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
)

const (
	// maxListenLines is the number of new lines after which a journal is written again without those that are no longer needed.
	maxListenLines = 4096
	// beginning stands for the id in the line with the time at which the first command began.
	beginning = "begin"
)

// listenJournal has the deliveries that a listener has taken, in a file with a line for each: its time and its id. It is complete when
// the process is killed, and deleted when the command is interrupted.
type listenJournal struct {
	path  string
	file  *os.File
	lines int                  // That were added to the file.
	begin time.Time            // Zero until the server says its time.
	last  time.Time            // When the latest delivery arrived.
	taken map[string]time.Time // Deliveries of the overlap, by id.
}

// openListenJournal continues a journal that a killed command left, or begins one; a since before now begins one there, and 0 at
// the time of the server.
func openListenJournal(name string, since time.Duration, now time.Time) (*listenJournal, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the directory for the journal of deliveries: %w", err)
	}
	digest := sha256.Sum256([]byte(name))
	j := &listenJournal{path: filepath.Join(dir, "orch", "listen-"+hex.EncodeToString(digest[:8])), taken: map[string]time.Time{}}
	if err := os.MkdirAll(filepath.Dir(j.path), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for the journal of deliveries: %w", err)
	}
	if since > 0 {
		j.begin = now.Add(-since)
	} else if err := j.load(now); err != nil {
		return nil, err
	}
	return j, j.rewrite()
}

// load reads a journal that is not too old.
func (j *listenJournal) load(now time.Time) error {
	text, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the journal of deliveries: %w", err)
	}
	info, err := os.Stat(j.path)
	if err != nil {
		return fmt.Errorf("read the journal of deliveries: %w", err)
	}
	if now.Sub(info.ModTime()) >= deliverylog.ListenerTimeout {
		return nil
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		at, id, ok := strings.Cut(lines.Text(), " ")
		received, err := time.Parse(time.RFC3339Nano, at)
		if !ok || err != nil {
			continue // The end of a line may be missing.
		}
		if id == beginning {
			j.begin = received
			continue
		}
		j.taken[id], j.last = received, latest(j.last, received)
	}
	return nil
}

// rewrite writes the file again with the deliveries of the overlap.
func (j *listenJournal) rewrite() error {
	var text bytes.Buffer
	if !j.begin.IsZero() {
		fmt.Fprintf(&text, "%s %s\n", j.begin.Format(time.RFC3339Nano), beginning)
	}
	for id, at := range j.taken {
		if at.Before(j.last.Add(-deliverylog.MaxDelay)) {
			delete(j.taken, id)
			continue
		}
		fmt.Fprintf(&text, "%s %s\n", at.Format(time.RFC3339Nano), id)
	}
	if j.file != nil {
		_ = j.file.Close() // Another file replaces it.
	}
	err := atomicfile.Replace(j.path, text.Bytes())
	if err == nil {
		j.file, err = os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		return fmt.Errorf("write the journal of deliveries: %w", err)
	}
	j.lines = 0
	return nil
}

// started notes the time of the server at which the first connection began.
func (j *listenJournal) started(at time.Time) error {
	if !j.begin.IsZero() {
		return nil
	}
	j.begin = at
	return j.rewrite()
}

// resume is the time from which on the server sends deliveries; nil for its own time.
func (j *listenJournal) resume() *time.Time {
	if j.begin.IsZero() {
		return nil
	}
	at := j.begin
	if overlap := j.last.Add(-deliverylog.MaxDelay); overlap.After(at) {
		at = overlap
	}
	return &at
}

// has reports whether a delivery was taken.
func (j *listenJournal) has(id string) bool {
	_, taken := j.taken[id]
	return taken
}

// done notes that a delivery was taken.
func (j *listenJournal) done(id string, received time.Time) error {
	j.last = latest(j.last, received)
	j.taken[id] = received
	if j.lines++; j.lines > maxListenLines {
		return j.rewrite()
	}
	if _, err := fmt.Fprintf(j.file, "%s %s\n", received.Format(time.RFC3339Nano), id); err != nil {
		return fmt.Errorf("write the journal of deliveries: %w", err)
	}
	return nil
}

// close ends the journal. An interrupted command deletes it: the next one begins anew.
func (j *listenJournal) close(interrupted bool) error {
	err := j.file.Close()
	if interrupted {
		err = errors.Join(err, os.Remove(j.path))
	}
	if err != nil {
		return fmt.Errorf("close the journal of deliveries: %w", err)
	}
	return nil
}
