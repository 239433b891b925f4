package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ErrNoEngine reports that no container engine with Compose responds.
var ErrNoEngine = errors.New("no Docker engine with Compose responds")

// FindEngine returns ErrNoEngine if no container engine with Compose responds.
func FindEngine(ctx context.Context) error {
	for _, args := range [][]string{{"info"}, {"compose", "version"}} {
		if out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: docker %s: %w: %s", ErrNoEngine, strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// Compose is the deployment of docker-compose.yml in a copy of the checkout, as somebody has it who has just cloned the repository. It
// publishes the server on a free port.
type Compose struct {
	*testing.T
	dir string
	env []string
	// Key is the API key that its requests carry.
	Key string
}

// NewCompose copies the checkout. The containers and volumes are removed when the test ends. env are settings of the deployment.
func NewCompose(t *testing.T, env ...string) *Compose {
	t.Helper()
	c := &Compose{T: t, dir: t.TempDir()}
	root, err := repositoryRoot()
	require.NoError(t, err)
	checkout := exec.CommandContext(t.Context(), "sh", "-c",
		`git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create | tar --extract --directory="$0"`, c.dir)
	checkout.Dir = root
	out, err := checkout.CombinedOutput()
	require.NoError(t, err, "%s", out)
	if override := os.Getenv("ORCH_TEST_COMPOSE_OVERRIDE"); override != "" {
		text, err := os.ReadFile(override)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(c.dir, "docker-compose.override.yml"), text, 0o600))
	}
	_, port, err := net.SplitHostPort(FreeAddress(t))
	require.NoError(t, err)
	c.env = append(append(os.Environ(), "COMPOSE_PROJECT_NAME=orch-e2e-"+port, "ORCH_PORT="+port), env...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", c.try("docker", "compose", "logs", "--tail", "50"))
		}
		c.try("docker", "compose", "down", "--volumes", "--timeout", "5")
	})
	return c
}

// try runs a command in the copy, and returns its output, also that of a failed one.
func (c *Compose) try(program string, args ...string) string {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, _ := cmd.CombinedOutput() // The caller only shows it.
	return string(out)
}

// Run runs a command in the copy, and returns its standard output.
func (c *Compose) Run(program string, args ...string) string {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), program, args...)
	var stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = c.dir, c.env, &stderr
	out, err := cmd.Output()
	require.NoError(c, err, "%s %v\n%s%s", program, args, out, stderr.String())
	return string(out)
}

// Up starts the containers as `make up` does, and returns the published address and how long it took.
func (c *Compose) Up() (o *Orch, took time.Duration) {
	c.Helper()
	began := time.Now()
	c.Run("make", "up")
	took = time.Since(began).Round(time.Second)
	o = &Orch{URL: "http://" + strings.TrimSpace(c.Run("docker", "compose", "port", "gateway", "4200"))}
	o.WaitReady(c)
	return o, took
}

// RoundTrip adds the API key to each request.
func (c *Compose) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.Key)
	return http.DefaultTransport.RoundTrip(r)
}
