package beside

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// startTimeout bounds a start; the Python server first creates its tables.
const startTimeout = 2 * time.Minute

// Server is a running server with its dependencies, until Stop.
type Server struct {
	// Name is its name in tables.
	Name string
	// Address is its host and port.
	Address string

	process *process
	others  []*process // The other processes of the server, whose usage counts too.
	stops   []func() error
}

// Conn returns a new connection to the server's API.
func (s *Server) Conn() *Conn { return NewConn(s.Address, "/api") }

// PID returns the id of the process that executes requests.
func (s *Server) PID() int { return s.process.cmd.Process.Pid }

// Taken returns the server's processor time since its start, and its memory in bytes.
func (s *Server) Taken() (cpu time.Duration, resident int64) {
	u := s.usage()
	return u.cpu, u.Resident
}

// usage returns the usage of the server's processes and their children. A database in another process does not count.
func (s *Server) usage() usage {
	pids := []int{s.PID()}
	for _, p := range s.others {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return usageOf(pids...)
}

// Output returns the end of the server's log.
func (s *Server) Output() string { return s.process.tail() }

// Stop ends the server and its dependencies, and deletes its files.
func (s *Server) Stop() error {
	var errs []error
	for _, stop := range slices.Backward(s.stops) {
		errs = append(errs, stop())
	}
	s.stops = nil
	return errors.Join(errs...)
}

// StartOrch starts a built binary without settings: embedded store and broker, every acknowledged write on disk. env
// adds settings.
func StartOrch(binary string, env ...string) (*Server, error) { return StartOrchIn("", binary, env...) }

// StartOrchIn is StartOrch with a data directory that stays, with the server's log in it (orch.log); empty means a temporary one.
func StartOrchIn(data, binary string, env ...string) (_ *Server, err error) {
	s := &Server{Name: "orch"}
	defer func() { err = s.stopAfter(err) }()
	dir, err := s.tempDir("orch-bench-orch-")
	if err != nil {
		return nil, err
	}
	logs := data
	if data == "" {
		data, logs = filepath.Join(dir, "data"), dir
	}
	if s.Address, err = FreeAddress(); err != nil {
		return nil, err
	}
	env = append([]string{"ORCH_INTERNAL_LISTEN=127.0.0.1:0", "ORCH_LOG_LEVEL=warn"}, env...)
	if s.process, err = start("orch", logs, env, nil, binary, "server", "--data-dir", data, "--listen", s.Address, "--vocabulary", "prefect"); err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { return s.process.stop(syscall.SIGTERM) })
	return s, s.ready()
}

// StartReference starts the Python server: one process with default settings on its own Postgres; the dashboard and the
// analytics are off.
func StartReference(prefect string) (_ *Server, err error) {
	if _, err := os.Stat(prefect); err != nil {
		return nil, fmt.Errorf("find the Python server: %w", err)
	}
	s := &Server{Name: "reference"}
	defer func() { err = s.stopAfter(err) }()
	url, err := s.postgres()
	if err != nil {
		return nil, err
	}
	home, err := s.tempDir("orch-bench-reference-")
	if err != nil {
		return nil, err
	}
	if s.Address, err = FreeAddress(); err != nil {
		return nil, err
	}
	env := []string{
		"PREFECT_HOME=" + home,
		"PREFECT_SERVER_DATABASE_CONNECTION_URL=" + strings.Replace(url, "postgresql:", "postgresql+asyncpg:", 1),
		"PREFECT_SERVER_UI_ENABLED=false",
		"PREFECT_SERVER_ANALYTICS_ENABLED=false",
		"DO_NOT_TRACK=1",
	}
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, fmt.Errorf("start the Python server: %w", err)
	}
	if s.process, err = start("reference", home, env, nil, prefect, "server", "start", "--host", host, "--port", port); err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { return s.process.stop(syscall.SIGINT) })
	return s, s.ready()
}

func (s *Server) stopAfter(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, s.Stop())
}

func (s *Server) tempDir(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", fmt.Errorf("create directory of server: %w", err)
	}
	s.stops = append(s.stops, func() error { return os.RemoveAll(dir) })
	return dir, nil
}

func (s *Server) ready() error {
	conn := s.Conn()
	defer conn.Close()
	return s.process.eventually("ready", startTimeout, func() bool {
		_, err := conn.Call(http.MethodGet, "/ready", nil, http.StatusOK)
		return err == nil
	})
}
