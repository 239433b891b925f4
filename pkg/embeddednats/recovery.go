package embeddednats

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// guardEvery is the time between two checks for failed writes, and between two probes of the disk.
	guardEvery = time.Second
	// probeBytes are written to learn whether the disk takes writes again: room for the frames in progress.
	probeBytes = 16 << 20
	probeFile  = "PROBE"
)

// guard restarts the nats-server after a failed write, once the disk takes writes again. A stream accepts no message after a failed
// write until its server restarts, and a full disk disables JetStream as a whole. Clients reconnect.
//
//	write fails ──► streams refuse messages ──► the disk takes writes ──► restart: streams recover from their files
func (s *Server) guard() {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	failed := false
	var notes reachedNotes
	for {
		select {
		case <-s.closing:
			return
		case <-tick.C:
		}
		cause := writeFailure(s.current())
		if cause == "" {
			notes.note(s)
			continue
		}
		if !failed {
			s.log.Error("failed to write messages; the broker restarts once the disk takes writes again", "error", cause)
		}
		if failed = s.probe() != nil; failed {
			continue
		}
		if err := s.restart(); err != nil {
			s.log.Error("failed to restart the broker after a failed write", "error", err)
			failed = true
			continue
		}
		s.log.Info("the broker has restarted after a failed write")
	}
}

// writeFailure returns why streams refuse messages, empty if they accept them.
func writeFailure(ns *server.Server) string {
	if !ns.JetStreamEnabled() {
		return "JetStream is disabled"
	}
	for _, e := range ns.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if strings.Contains(e.Error, "write error") {
			return e.Error
		}
	}
	return ""
}

// probe writes to the disk.
func (s *Server) probe() (err error) {
	path := filepath.Join(s.options.StoreDir, probeFile)
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("probe the disk: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	if _, err := f.Write(make([]byte, probeBytes)); err != nil {
		return fmt.Errorf("probe the disk: %w", err)
	}
	return f.Sync()
}

func (s *Server) restart() error {
	ns := s.current()
	ns.Shutdown()
	ns.WaitForShutdown()
	return s.start()
}
