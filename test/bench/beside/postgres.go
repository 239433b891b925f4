package beside

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// ErrNoPostgres means that this machine has no Postgres.
var ErrNoPostgres = errors.New("the programs initdb and postgres are missing: install Debian's package postgresql (apt-get update && apt-get install postgresql)")

// StartPostgres starts a new database cluster, and returns its URL and what stops it.
func StartPostgres() (url string, stop func() error, err error) {
	s := &Server{Name: "postgres"}
	if url, err = s.postgres(); err != nil {
		return "", nil, errors.Join(err, s.Stop())
	}
	return url, s.Stop, nil
}

// postgres starts a new database cluster with default settings, and returns its URL. The server's Stop stops it and
// deletes its files.
func (s *Server) postgres() (string, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return "", err
	}
	as, err := postgresUser()
	if err != nil {
		return "", err
	}
	dir, err := s.tempDir("orch-bench-postgres-")
	if err != nil {
		return "", err
	}
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return "", fmt.Errorf("change owner of the Postgres directory: %w", err)
		}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "--pgdata="+data, "--username=orch", "--auth=trust", "--encoding=UTF8", "--locale=C")
	initdb.Dir = dir
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("create Postgres cluster: %w\n%s", err, out)
	}
	address, err := FreeAddress()
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("start Postgres: %w", err)
	}
	p, err := start("postgres", dir, nil, as, filepath.Join(bin, "postgres"), "-D", data, "-h", host, "-p", port, "-k", dir)
	if err != nil {
		return "", err
	}
	// SIGINT: end the sessions and stop.
	s.stops = append(s.stops, func() error { return p.stop(syscall.SIGINT) })
	err = p.eventually("ready", time.Minute, func() bool {
		return exec.Command(filepath.Join(bin, "pg_isready"), "-q", "-h", host, "-p", port).Run() == nil
	})
	return "postgresql://orch@" + address + "/postgres", err
}

// postgresPrograms is the directory of the newest Postgres: Debian does not add it to PATH.
func postgresPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			found = append(found, resolved)
		}
	}
	if len(found) == 0 {
		return "", ErrNoPostgres
	}
	return filepath.Dir(slices.Max(found)), nil
}

// postgresUser is the user that runs Postgres, which refuses to run as root. Nil means the current user.
func postgresUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, errors.Join(ErrNoPostgres, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("parse id of user postgres: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("parse id of user postgres: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
