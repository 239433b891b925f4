package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// startTimeout bounds a start on a busy machine.
const startTimeout = 60 * time.Second

// Orch is a running server of either form.
type Orch struct {
	// URL is the root: the dashboard's address, without a trailing slash.
	URL string
	// Processes are its processes, in start order.
	Processes []*Process

	programs Programs
	// env are the settings of separate services, nil for the single binary.
	env []string
}

// OwnerKey returns an API key of the owner of a server that started with API keys. A single binary names the file of the first one;
// separate services make one on request.
func (o *Orch) OwnerKey(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if o.env != nil {
		const prefix = "onu_"
		key, err := Start(t, "orchestration --owner-key", o.env, o.programs.Path("orchestration"), "--owner-key").Line(ctx, prefix)
		if err != nil {
			t.Fatal(err)
		}
		return prefix + key
	}
	file, err := o.Processes[0].Line(ctx, "owner key")
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(strings.TrimSpace(file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(key))
}

// API returns the base address of the API.
func (o *Orch) API() string { return o.URL + "/api" }

// Kill ends all processes at once.
func (o *Orch) Kill() {
	for _, p := range o.Processes {
		p.Kill()
	}
}

// Stop stops all processes in reverse order of their start.
func (o *Orch) Stop(t testing.TB) {
	t.Helper()
	for _, p := range slices.Backward(o.Processes) {
		if err := p.Stop(time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

// Restart kills one of the processes, restarts it at once and waits until the server is ready. A single binary needs a
// fixed address for that: see [StartSingleAt].
func (o *Orch) Restart(t testing.TB, p *Process) {
	t.Helper()
	if err := p.Restart(); err != nil {
		t.Fatal(err)
	}
	o.WaitReady(t)
}

// StartSingle starts the single binary on a data directory and any free address, and waits until it is ready.
func StartSingle(t testing.TB, programs Programs, dataDir string, env ...string) *Orch {
	t.Helper()
	return StartSingleAt(t, programs, dataDir, "127.0.0.1:0", env...)
}

// StartSingleAt starts the single binary on a data directory and an address, and waits until it is ready.
func StartSingleAt(t testing.TB, programs Programs, dataDir, address string, env ...string) *Orch {
	t.Helper()
	p := Start(t, "orch server", append([]string{"ORCH_INTERNAL_LISTEN=127.0.0.1:0", "ORCH_LOG_FORMAT=json"}, env...),
		programs.Path("orch"), "server", "--data-dir", dataDir, "--listen", address)
	return ready(t, p)
}

// ready waits until a started single binary is ready.
func ready(t testing.TB, p *Process) *Orch {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	url, err := p.Line(ctx, "dashboard")
	if err != nil {
		t.Fatal(err)
	}
	o := &Orch{URL: url[:len(url)-1], Processes: []*Process{p}}
	o.WaitReady(t)
	return o
}

// Infra is a running `orch infra`: a broker and a store on TCP.
type Infra struct {
	Process *Process
	// MongoAddress and NATSAddress are host and port.
	MongoAddress, NATSAddress string
	dataDir                   string
}

// MongoURI is the store's connection string, with its password.
func (i *Infra) MongoURI() string { return i.MongoURIAt(i.MongoAddress) }

// MongoURIAt is MongoURI with the address of a proxy.
func (i *Infra) MongoURIAt(address string) string {
	return i.address("store.uri", i.MongoAddress, address, "mongodb://"+address+"/?directConnection=true")
}

// NATSURL is the broker's address, with its token.
func (i *Infra) NATSURL() string { return i.NATSURLAt(i.NATSAddress) }

// NATSURLAt is NATSURL with the address of a proxy.
func (i *Infra) NATSURLAt(address string) string {
	return i.address("broker.url", i.NATSAddress, address, "nats://"+address)
}

// address reads an address that `orch infra` wrote. Earlier versions write none and demand no password.
func (i *Infra) address(name, listen, reached, without string) string {
	text, err := os.ReadFile(filepath.Join(i.dataDir, name))
	if err != nil {
		return without
	}
	return strings.Replace(strings.TrimSpace(string(text)), listen, reached, 1)
}

// StartInfra starts `orch infra` on a data directory and waits until both listen.
func StartInfra(t testing.TB, programs Programs, dataDir string) *Infra {
	t.Helper()
	i := &Infra{MongoAddress: FreeAddress(t), NATSAddress: FreeAddress(t), dataDir: dataDir}
	i.Process = Start(t, "orch infra", nil, programs.Path("orch"), "infra", "--data-dir", dataDir,
		"--mongo-listen", i.MongoAddress, "--nats-listen", i.NATSAddress)
	// It creates the keys that the services read at start.
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if _, err := i.Process.Line(ctx, "secrets"); err != nil {
		t.Fatal(err)
	}
	return i
}

// StartThree starts `orch infra` and the three services as separate processes and waits until they are ready. env is
// for the services.
func StartThree(t testing.TB, programs Programs, dataDir string, env ...string) *Orch {
	t.Helper()
	return StartServices(t, programs, StartInfra(t, programs, dataDir), env...)
}

// StartServices starts the three services on a broker and a store and waits until they are ready.
func StartServices(t testing.TB, programs Programs, infra *Infra, env ...string) *Orch {
	t.Helper()
	port := make([]string, 3)
	for i := range port {
		port[i] = FreeAddress(t)
	}
	o := &Orch{URL: "http://" + port[0], Processes: []*Process{infra.Process}}
	env = append([]string{
		"ORCH_LOG_FORMAT=json",
		"ORCH_MONGODB_URI=" + infra.MongoURI(),
		"ORCH_NATS_URL=" + infra.NATSURL(),
		"ORCH_SECRETS_KEY_FILE=" + filepath.Join(infra.dataDir, "secrets.key"),
		"ORCH_GATEWAY_LISTEN=" + port[0], "ORCH_GATEWAY_INTERNAL_LISTEN=127.0.0.1:0",
		"ORCH_HOOKS_LISTEN=" + port[1], "ORCH_HOOKS_ADDR=" + port[1], "ORCH_HOOKS_INTERNAL_LISTEN=127.0.0.1:0",
		"ORCH_ORCHESTRATION_LISTEN=" + port[2], "ORCH_ORCHESTRATION_ADDR=" + port[2], "ORCH_ORCHESTRATION_INTERNAL_LISTEN=127.0.0.1:0",
	}, env...)
	o.programs, o.env = programs, env
	for _, name := range []string{"orchestration", "hooks", "gateway"} {
		o.Processes = append(o.Processes, Start(t, name, env, programs.Path(name)))
	}
	o.WaitReady(t)
	return o
}

// WaitReady waits until the server reports ready, and the hooks service responds.
func (o *Orch) WaitReady(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for _, probe := range []struct {
		path   string
		status int
	}{{"/api/ready", http.StatusOK}, {"/hooks/nobody", http.StatusNotFound}} {
		if err := WaitFor(ctx, o.URL+probe.path, probe.status); err != nil {
			t.Fatal(err)
		}
	}
}

// WaitFor polls an address until it responds with a status.
func WaitFor(ctx context.Context, url string, status int) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	last := "no answer"
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("get %s: %w", url, err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close() // Only the status matters.
			if response.StatusCode == status {
				return nil
			}
			last = response.Status
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d from %s: %w (last: %s)", status, url, ctx.Err(), last)
		}
	}
}

// returnedAddresses are those that FreeAddress returned.
var returnedAddresses sync.Map

// FreeAddress returns a loopback address without a listener, each one once: the system may offer a port again before the process that it is
// for listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("find a free port: %v", err)
		}
		address := ln.Addr().String()
		if err := ln.Close(); err != nil {
			t.Fatalf("close the listener on %s: %v", address, err)
		}
		if _, again := returnedAddresses.LoadOrStore(address, true); !again {
			return address
		}
	}
}
