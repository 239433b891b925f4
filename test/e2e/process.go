package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Programs are the built binaries.
type Programs struct {
	Dir string
}

// Build builds programs into a directory; all of them if none is named.
func Build(dir string, only ...string) (Programs, error) {
	root, err := repositoryRoot()
	if err != nil {
		return Programs{}, err
	}
	for name, pkg := range map[string]string{
		"orch":          "./services/standalone/cmd/orch",
		"gateway":       "./services/gateway/cmd/gateway",
		"hooks":         "./services/hooks/cmd/hooks",
		"orchestration": "./services/orchestration/cmd/orchestration",
	} {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		args := []string{"build", "-o", filepath.Join(dir, name)}
		if os.Getenv("ORCH_TEST_RACE") != "" {
			args = append(args, "-race")
		}
		build := exec.Command("go", append(args, pkg)...)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			return Programs{}, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return Programs{Dir: dir}, nil
}

// repositoryRoot is the directory of go.work, above the test's own.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find repository: no go.work above the test")
		}
		dir = parent
	}
}

// Path returns the path of a program.
func (p Programs) Path(name string) string { return filepath.Join(p.Dir, name) }

// Process is a running program. Its output goes to the test's log when the test fails.
type Process struct {
	name   string
	cmd    *exec.Cmd
	ended  chan struct{}
	output lines
	err    error // Read after ended.
}

// Start starts a program; the end of the test kills it.
func Start(t testing.TB, name string, env []string, program string, args ...string) *Process {
	t.Helper()
	p := &Process{name: name}
	if err := p.run(exec.Command(program, args...), append(os.Environ(), env...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, p.output.String())
		}
	})
	return p
}

// run starts the command and waits for its end in the background.
func (p *Process) run(cmd *exec.Cmd, env []string) error {
	ended := make(chan struct{})
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &p.output, &p.output
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.cmd, p.ended = cmd, ended
	go func() {
		p.err = cmd.Wait()
		close(ended)
	}()
	return nil
}

// Restart kills the process and starts the same program at once with the same arguments and environment.
func (p *Process) Restart() error {
	p.Kill()
	return p.run(exec.Command(p.cmd.Path, p.cmd.Args[1:]...), p.cmd.Env)
}

// Name returns the name of the process.
func (p *Process) Name() string { return p.name }

// Output returns the output of the process so far.
func (p *Process) Output() string { return p.output.String() }

// Pid returns the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill kills the process without warning, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // It may have ended already.
	<-p.ended
}

// Stop signals the process to end and returns its exit error.
func (p *Process) Stop(timeout time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
		return p.err
	case <-time.After(timeout):
		return fmt.Errorf("stop %s: still running after %s", p.name, timeout)
	}
}

// Line waits for a line of output that starts with a prefix and returns the rest.
func (p *Process) Line(ctx context.Context, prefix string) (string, error) {
	return p.line(ctx, prefix, func(line string) (string, bool) {
		rest, found := strings.CutPrefix(line, prefix)
		return strings.TrimSpace(rest), found
	})
}

// LineWith waits for a line of output that contains a text and returns it. The output of a restarted process continues that of
// the one before.
func (p *Process) LineWith(ctx context.Context, text string) (string, error) {
	return p.line(ctx, text, func(line string) (string, bool) { return line, strings.Contains(line, text) })
}

func (p *Process) line(ctx context.Context, wanted string, match func(line string) (string, bool)) (string, error) {
	for {
		more := p.output.changed()
		scan := bufio.NewScanner(strings.NewReader(p.output.String()))
		for scan.Scan() {
			if result, found := match(strings.TrimSpace(scan.Text())); found {
				return result, nil
			}
		}
		select {
		case <-more:
		case <-p.ended:
			return "", fmt.Errorf("%s ended before it printed %q: %w", p.name, wanted, p.err)
		case <-ctx.Done():
			return "", fmt.Errorf("%s did not print %q: %w", p.name, wanted, ctx.Err())
		}
	}
}

// lines collects output and signals new lines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// changed returns a channel that is closed at the next write. Take it before reading the text, so no write is missed.
func (l *lines) changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more == nil {
		l.more = make(chan struct{})
	}
	return l.more
}

var _ io.Writer = (*lines)(nil)
