// Package control gives the command line a local socket to a running server, for operations of the data directory's
// owner.
//
//	orch backup DIR ──► <data directory>/control.sock ──► the server: backup
//
// The socket lies in the data directory, which only the server's user can enter. A process that can reach the socket
// could read the data anyway.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// socketName is the socket's name in the data directory.
const socketName = "control.sock"

// ErrNoServer reports that no server uses the data directory.
var ErrNoServer = errors.New("no server uses this data directory")

// Server serves the socket. It is a run.Worker.
type Server struct {
	ln     net.Listener
	backup func(ctx context.Context, r BackupRequest) error
}

// Listen opens the socket. The caller owns the directory's lock, so an existing socket belongs to a dead server.
func Listen(dataDir string, backup func(ctx context.Context, r BackupRequest) error) (*Server, error) {
	path := filepath.Join(dataDir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove an old control socket: %w", err)
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the control socket: %w", err)
	}
	return &Server{ln: ln, backup: backup}, nil
}

// Name implements run.Worker.
func (s *Server) Name() string { return "control socket" }

// Close closes the socket. It may be called after Run.
func (s *Server) Close() error {
	if err := s.ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the control socket: %w", err)
	}
	return nil
}

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /backup", s.serveBackup)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- server.Shutdown(context.WithoutCancel(ctx)) })
	err := server.Serve(s.ln)
	if !stop() {
		err = errors.Join(<-stopped)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// BackupRequest describes a backup.
type BackupRequest struct {
	// Dir is the absolute path of the new backup.
	Dir string `json:"dir"`
	// Base is the absolute path of an earlier backup with which the new one shares unchanged files, or empty.
	Base string `json:"base,omitempty"`
	// WithoutKeys leaves the keys of secrets out.
	WithoutKeys bool `json:"without_keys,omitempty"`
}

func (s *Server) serveBackup(w http.ResponseWriter, r *http.Request) {
	var request BackupRequest
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&request); err != nil || !filepath.IsAbs(request.Dir) || request.Base != "" && !filepath.IsAbs(request.Base) {
		http.Error(w, "a directory must be an absolute path", http.StatusBadRequest)
		return
	}
	if err := s.backup(r.Context(), request); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Backup requests a backup of a data directory from the server that uses it. It returns ErrNoServer if there is none.
func Backup(ctx context.Context, dataDir string, r BackupRequest) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("request backup: %w", err)
	}
	path := filepath.Join(dataDir, socketName)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://control/backup", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("request backup: %w", err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %s", ErrNoServer, dataDir)
	}
	if err != nil {
		return fmt.Errorf("request backup: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return fmt.Errorf("request backup: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("request backup: server: %s", text)
	}
	return nil
}
