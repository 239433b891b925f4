package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Cluster is the server on many hosts: two replicas of each service, three NATS servers, and a store.
type Cluster struct {
	Network   *Network
	Processes map[string]*Process // By host.
	// Gateways are the addresses that a load balancer would have.
	Gateways []*Orch
	// NetDelay is the program that impairs links.
	NetDelay string
}

// brokerHosts run the NATS servers of a cluster.
var brokerHosts = []string{"n1", "n2", "n3"}

// serviceHosts run the services of a cluster: host and program, in start order.
var serviceHosts = []struct{ host, program string }{
	{"or1", "orchestration"}, {"or2", "orchestration"}, {"hk1", "hooks"}, {"hk2", "hooks"}, {"gw1", "gateway"}, {"gw2", "gateway"},
}

// ClusterStore is a store on hosts of a cluster.
type ClusterStore interface {
	// Hosts are the names of its hosts.
	Hosts() []string
	// Start starts its processes with data below a directory, adds them to the cluster, and returns the connection string.
	Start(t testing.TB, c *Cluster, programs Programs, dir string) string
}

// EmbeddedStore is the embedded store as a process of its own, on the host st.
type EmbeddedStore struct{}

// Hosts implements [ClusterStore].
func (EmbeddedStore) Hosts() []string { return []string{"st"} }

// Start implements [ClusterStore].
func (EmbeddedStore) Start(t testing.TB, c *Cluster, programs Programs, dir string) string {
	t.Helper()
	host := c.Network.Host("st")
	c.Processes["st"] = host.Start(t, nil, programs.Path("orch"), "infra", "--data-dir", dir,
		"--mongo-listen", host.IP+":27018", "--nats-listen", "127.0.0.1:0", "--insecure")
	return "mongodb://" + host.IP + ":27018/?directConnection=true"
}

// natsConfig is the configuration of one server of a cluster of three.
const natsConfig = `server_name: %[1]s
listen: 0.0.0.0:4222
max_payload: 8MB
jetstream { store_dir: %[2]q, sync_interval: always }
cluster { name: orch, listen: 0.0.0.0:6222, routes: [ %[3]s ] }
accounts {
  SYS  { exports: [ { service: "$SYS.REQ.SERVER.PING.JSZ", response_type: stream } ] }
  ORCH { jetstream: enabled
         users: [ { user: orch, password: cluster } ]
         imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ" } } ] }
}
system_account: SYS
`

// StartCluster starts a cluster on a store and waits until every replica is ready. env is for the services.
func StartCluster(t testing.TB, programs Programs, store ClusterStore, env ...string) *Cluster {
	t.Helper()
	names := append(slices.Clone(brokerHosts), store.Hosts()...)
	for _, s := range serviceHosts {
		names = append(names, s.host)
	}
	n := NewNetwork(t, names...)
	c := &Cluster{Network: n, Processes: map[string]*Process{}}
	group := func(names ...string) (hosts []*Host) {
		for _, name := range names {
			hosts = append(hosts, n.Host(name))
		}
		return hosts
	}
	n.Resolve(t, map[string][]*Host{
		"n1": group("n1"), "n2": group("n2"), "n3": group("n3"),
		"orchestration": group("or1", "or2"), "hooks": group("hk1", "hk2"),
	})
	dir := t.TempDir()
	node := buildTool(t, dir, "natsnode")
	c.NetDelay = buildTool(t, dir, "netdelay")
	for _, name := range brokerHosts {
		var routes []string
		for _, h := range group(brokerHosts...) {
			routes = append(routes, fmt.Sprintf("%q", "nats://"+h.IP+":6222"))
		}
		config := filepath.Join(dir, name+".conf")
		text := fmt.Sprintf(natsConfig, name, filepath.Join(dir, name), strings.Join(routes, ", "))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Processes[name] = n.Host(name).Start(t, nil, node, config)
	}
	uri := store.Start(t, c, programs, filepath.Join(dir, "store"))
	key := base64.StdEncoding.EncodeToString([]byte("32 bytes of a key of a test only"))
	env = append([]string{
		"ORCH_LOG_FORMAT=json", "ORCH_NATS_REPLICAS=3", "ORCH_NATS_URL=nats://orch:cluster@n1:4222,nats://orch:cluster@n2:4222,nats://orch:cluster@n3:4222",
		"ORCH_MONGODB_URI=" + uri, "ORCH_SECRETS_KEY=" + key, "ORCH_INSECURE=true",
		"ORCH_ALLOW_PLAINTEXT=true", "ORCH_ALLOWED_HOSTS=*",
		"ORCH_GATEWAY_LISTEN=0.0.0.0:4200", "ORCH_GATEWAY_INTERNAL_LISTEN=0.0.0.0:9400", "ORCH_GATEWAY_DRAIN_DELAY=1s",
		"ORCH_HOOKS_LISTEN=0.0.0.0:4201", "ORCH_HOOKS_INTERNAL_LISTEN=0.0.0.0:9400", "ORCH_HOOKS_DRAIN_DELAY=1s",
		"ORCH_ORCHESTRATION_LISTEN=0.0.0.0:4202", "ORCH_ORCHESTRATION_INTERNAL_LISTEN=0.0.0.0:9400",
		"ORCH_ORCHESTRATION_ADDR=dns:///orchestration:4202", "ORCH_HOOKS_ADDR=hooks:4201",
	}, env...)
	for _, s := range serviceHosts {
		c.Processes[s.host] = n.Host(s.host).Start(t, env, programs.Path(s.program))
		if s.program == "gateway" {
			c.Gateways = append(c.Gateways, &Orch{URL: "http://" + n.Host(s.host).IP + ":4200"})
		}
	}
	c.WaitReady(t)
	return c
}

// buildTool builds a program of this package's folder into a directory.
func buildTool(t testing.TB, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", path, "./test/e2e/"+name)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

// WaitReady waits until every replica of the services is ready.
func (c *Cluster) WaitReady(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*startTimeout)
	defer cancel()
	for _, s := range serviceHosts {
		if err := WaitFor(ctx, "http://"+c.Network.Host(s.host).IP+":9400/ready", http.StatusOK); err != nil {
			t.Fatal(err)
		}
	}
}

// Leader returns the NATS server that leads the stream of events.
func (c *Cluster) Leader(t testing.TB) (leader string) {
	t.Helper()
	c.events(t, func(_ context.Context, _ jetstream.JetStream, info *jetstream.StreamInfo) {
		leader = info.Cluster.Leader
	})
	return leader
}

// LimitEvents changes the maximum size of the stream of events and returns the one before. A negative size is no limit.
func (c *Cluster) LimitEvents(t testing.TB, size func(stored uint64) int64) (before int64) {
	t.Helper()
	c.events(t, func(ctx context.Context, js jetstream.JetStream, info *jetstream.StreamInfo) {
		before = info.Config.MaxBytes
		info.Config.MaxBytes = size(info.State.Bytes)
		if _, err := js.UpdateStream(ctx, info.Config); err != nil {
			t.Fatalf("change the size of the stream: %v", err)
		}
	})
	return before
}

// events waits until the stream of events has a leader and passes on what the broker says about it.
func (c *Cluster) events(t testing.TB, use func(ctx context.Context, js jetstream.JetStream, info *jetstream.StreamInfo)) {
	t.Helper()
	var servers []string
	for _, name := range brokerHosts {
		servers = append(servers, "nats://orch:cluster@"+c.Network.Host(name).IP+":4222")
	}
	nc, err := nats.Connect(strings.Join(servers, ","))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		if stream, err := js.Stream(ctx, "EVENTS"); err == nil && stream.CachedInfo().Cluster != nil && stream.CachedInfo().Cluster.Leader != "" {
			use(ctx, js, stream.CachedInfo())
			return
		}
		if ctx.Err() != nil {
			t.Fatal("the stream has no leader")
		}
		pause(ctx)
	}
}
