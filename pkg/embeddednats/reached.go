package embeddednats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// reachedFile has how far each stream had come. The end of a file of messages does not tell whether it was cut off.
const reachedFile = "REACHED.json"

// reached is the last sequence of each stream, by its name.
type reached map[string]position

type position struct {
	Created  time.Time `json:"created"`
	Sequence uint64    `json:"sequence"`
}

// readReached reads the file of a directory. A crash may leave it absent or empty.
func readReached(dir string) (reached, error) {
	content, err := os.ReadFile(filepath.Join(dir, reachedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how far streams have come: %w", err)
	}
	var r reached
	if json.Unmarshal(content, &r) != nil {
		return nil, nil //nolint:nilerr // Nothing is known then, as before the first note.
	}
	return r, nil
}

// reachedBy returns how far the streams of a server have come.
func reachedBy(ns *server.Server) (reached, error) {
	info, err := ns.Jsz(&server.JSzOptions{Streams: true})
	if err != nil {
		return nil, fmt.Errorf("read how far streams have come: %w", err)
	}
	r := reached{}
	for _, account := range info.AccountDetails {
		for _, stream := range account.Streams {
			r[stream.Name] = position{stream.Created, stream.State.LastSeq}
		}
	}
	return r, nil
}

// write writes the file of a directory. It is not synced: an older file claims less.
func (r reached) write(dir string) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode how far streams have come: %w", err)
	}
	path := filepath.Join(dir, reachedFile)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("note how far streams have come: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("note how far streams have come: %w", err)
	}
	return nil
}

// reachedNotes are the positions that the guard has read and written.
type reachedNotes struct{ read, written reached }

// note writes how far the streams had come at the last call: by now those messages are on disk, whether acknowledged or not.
func (n *reachedNotes) note(s *Server) {
	now, err := reachedBy(s.current())
	if err == nil && len(n.read) > 0 && !maps.Equal(n.read, n.written) {
		if err = n.read.write(s.options.StoreDir); err == nil {
			n.written = n.read
		}
	}
	if err != nil {
		s.log.Warn("failed to note how far streams have come", "error", err)
		return
	}
	n.read = now
}
