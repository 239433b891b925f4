// Package mongod finds the program of a MongoDB server and starts it, for tests and benches.
package mongod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Variable names the program of a MongoDB server by its path.
const Variable = "ORCH_TEST_MONGOD"

// ErrMissing reports that this machine has no MongoDB server.
var ErrMissing = errors.New("no MongoDB server: set " + Variable + " to the path of mongod, or add mongod to PATH")

// Find returns the path of the program that [Variable] names, else that of mongod on PATH. The error is ErrMissing if there is neither.
func Find() (string, error) {
	named := os.Getenv(Variable)
	if named == "" {
		path, err := exec.LookPath("mongod")
		if err != nil {
			return "", ErrMissing
		}
		return path, nil
	}
	path, err := exec.LookPath(named)
	if err != nil {
		return "", fmt.Errorf("find the program of %s: %w", Variable, err)
	}
	return filepath.Abs(path)
}

const (
	replicaSet = "rs0"
	// startTimeout is the time from the start of a server until it is a primary.
	startTimeout = time.Minute
	// stopTimeout is the time from SIGTERM to SIGKILL.
	stopTimeout = 20 * time.Second
)

// Arguments returns the arguments of a member of a replica set for tests: little memory, and the fail points that tests set.
func Arguments(data, addresses, port, set string) []string {
	return []string{
		"--dbpath", data, "--port", port, "--bind_ip", addresses, "--replSet", set, "--wiredTigerCacheSizeGB", "0.5", "--oplogSize", "256", "--syncdelay", "5", "--quiet",
		"--setParameter", "diagnosticDataCollectionEnabled=false", "--setParameter", "enableTestCommands=1",
		// Files of dropped databases stay open for this time and until the next checkpoint (syncdelay). With the defaults of 300 s and
		// 60 s the tests exceed the limit of open files.
		"--setParameter", "minSnapshotHistoryWindowInSeconds=5",
	}
}

// memoryRoom is the free space, in bytes, that a file system in memory needs for the data of tests.
const memoryRoom = 4 << 30

// TempDir makes a directory for data: in memory where that has room, as tests make thousands of files.
func TempDir() (string, error) {
	const memory = "/dev/shm"
	var stat syscall.Statfs_t
	if err := syscall.Statfs(memory, &stat); err == nil && stat.Bavail*uint64(stat.Bsize) >= memoryRoom {
		if dir, err := os.MkdirTemp(memory, "mongod-"); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "mongod-")
}

// Server is a replica set of one member on a port of this machine.
type Server struct {
	URI string

	process *exec.Cmd
	exited  chan struct{} // Closed when the process has exited.
	output  *bytes.Buffer // Read after exited.
}

// Start starts the program with data in a directory, and waits until it is a primary.
func Start(ctx context.Context, program, dir string) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	output := &bytes.Buffer{} // Short: the log is a file.
	arguments := append(Arguments(dir, "127.0.0.1", port, replicaSet), "--logpath", filepath.Join(dir, "mongod.log"))
	process := exec.Command(program, arguments...)
	process.Stdout, process.Stderr = output, output
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // An interrupt of the terminal ends the tests first.
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	address := net.JoinHostPort("127.0.0.1", port)
	s := &Server{URI: "mongodb://" + address + "/?replicaSet=" + replicaSet, process: process, exited: make(chan struct{}), output: output}
	go func() {
		_ = process.Wait()
		close(s.exited)
	}()
	if err := s.initiate(ctx, address); err != nil {
		s.Stop()
		log, _ := os.ReadFile(filepath.Join(dir, "mongod.log"))
		return nil, fmt.Errorf("start %s: %w\n%s%s", program, err, output.Bytes(), log)
	}
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(stopTimeout):
		_ = s.process.Process.Kill()
		<-s.exited
	}
}

// initiate makes the server a primary.
func (s *Server) initiate(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address + "/?directConnection=true").SetServerSelectionTimeout(time.Second))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	admin := client.Database("admin")
	member := bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: address}}
	if err := s.retry(ctx, func() error {
		return admin.RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: bson.D{{Key: "_id", Value: replicaSet}, {Key: "members", Value: bson.A{member}}}}}).Err()
	}); err != nil {
		return fmt.Errorf("initiate the replica set: %w", err)
	}
	return s.retry(ctx, func() error {
		var hello struct {
			Primary bool `bson:"isWritablePrimary"`
		}
		if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil || hello.Primary {
			return err
		}
		return errors.New("the server is no primary")
	})
}

// retry calls try until it succeeds, the server ends or ctx does.
func (s *Server) retry(ctx context.Context, try func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("the server ended: %w", err)
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

func freePort(ctx context.Context) (string, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
