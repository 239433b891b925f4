//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

const (
	// hostileMemory is the memory limit of a service's container in bytes, and hostileGoMemory what the deployments set with it.
	hostileMemory   = 512 << 20
	hostileGoMemory = "GOMEMLIMIT=448MiB"
	// honestAlone is how long the honest client is measured alone.
	honestAlone = 10 * time.Second
	// honestFactor bounds the honest client's p99 during the attack by that beside the same attack on another server of this machine.
	honestFactor = 2
	// hostileRounds is how often each bomb is sent, and hostileRound the least time between two. So an attack lasts some ten seconds,
	// also if the server refuses most of it, and the p99 is that of many requests.
	hostileRounds = 10
	hostileRound  = time.Second
)

// TestHostile sends each bomb on each entrance, all in parallel, to processes with the memory limit of a container. No process
// ends, and no answer is a 500. An honest client's p99 is at most honestFactor times that beside a neighbour: another server of the same
// form on this machine, under the same attack. So both share the processors with the same work, and the bound is that of what one server
// lets its clients do to each other. The report has the figures of the client alone too.
func TestHostile(t *testing.T) {
	if os.Getenv("ORCH_TEST_HOSTILE") == "" {
		t.Skip("ORCH_TEST_HOSTILE is not set; make e2e-hostile sets it")
	}
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) { newSiege(t, form).run() })
	}
}

// siege is a server under attack.
type siege struct {
	t       *testing.T
	form    form
	o       *Orch
	key     string
	budgets map[*Process]*MemoryBudget
	slugs   map[string]string
	honest  *http.Client
	// tenant is the path of the honest client's workspace, which is of another account than those of the attackers.
	tenant, tenantKey string

	target target

	mu      sync.Mutex
	wrong   []string
	outcome outcome
	cost    time.Duration // The processor time of the server during the attack.
}

func newSiege(t *testing.T, form form) *siege {
	s := &siege{
		t: t, form: form, o: form.start(t, "ORCH_AUTH=keys", hostileGoMemory), budgets: map[*Process]*MemoryBudget{},
		honest: &http.Client{Timeout: startTimeout},
	}
	for _, p := range s.o.Processes {
		if p.Name() == "orch infra" {
			continue // NATS and MongoDB have limits of their own.
		}
		b := NewMemoryBudget(t, fmt.Sprintf("%d-%s", p.Pid(), strings.ReplaceAll(p.Name(), " ", "-")), hostileMemory)
		b.Add(t, p)
		s.budgets[p] = b
	}
	s.key = s.o.OwnerKey(t)
	s.tenant, s.tenantKey = s.newTenant()
	s.slugs = map[string]string{}
	for name, fields := range map[string]string{
		"github":   `"template": "{}", "verification": {"scheme": "github", "secrets": ["0123456789abcdef0123456789abcdef"]}`,
		"twilio":   `"template": "{}", "verification": {"scheme": "twilio", "secrets": ["0123456789abcdef0123456789abcdef"]}`,
		"none":     `"template": "{\"event\": \"e\", \"resource\": {\"orch.resource.id\": \"r\"}}"`,
		"template": `"template": "{\"event\": \"e\", \"resource\": {\"orch.resource.id\": \"r.{{ body | length }}\"}, \"payload\": {{ body | tojson }}}"`,
		"cloud":    `"template": "{{ body | from_cloud_event(headers) }}"`,
		"honest":   `"template": "{\"event\": \"e\", \"resource\": {\"orch.resource.id\": \"r.{{ body.n }}\"}}"`,
	} {
		var made struct{ Slug string }
		path, key := "/api/webhooks/", s.key
		if name == "honest" {
			path, key = s.tenant+"/webhooks/", s.tenantKey
		}
		s.create(key, path, `{"name": "`+name+`", `+fields+`}`, &made)
		require.NotEmpty(t, made.Slug)
		s.slugs[name] = made.Slug
	}
	s.target = target{URL: s.o.URL, Key: s.key, Slugs: s.slugs}
	return s
}

// newTenant creates an account, and returns the path of its workspace and the key of its owner.
func (s *siege) newTenant() (path, key string) {
	s.t.Helper()
	var account struct{ ID string }
	s.create(s.key, "/api/accounts/", `{"name": "honest"}`, &account)
	var member struct {
		APIKey struct{ Key string } `json:"api_key"`
	}
	s.create(s.key, "/api/accounts/"+account.ID+"/account_memberships/",
		`{"email": "honest@example.com", "account_role_id": "`+access.AccountOwner+`"}`, &member)
	var workspaces []struct {
		ID string `json:"workspace_id"`
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.o.API()+"/me/workspaces", nil)
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+member.APIKey.Key)
	_, err = (&Client{HTTP: s.honest, Ledger: NewLedger()}).do(r, &workspaces)
	require.NoError(s.t, err)
	require.Len(s.t, workspaces, 1)
	return "/api/accounts/" + account.ID + "/workspaces/" + workspaces[0].ID, member.APIKey.Key
}

// create posts JSON with a key.
func (s *siege) create(key, path, body string, out any) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.o.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	c := &Client{HTTP: s.honest, Ledger: NewLedger()}
	status, err := c.do(r, out)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusCreated, status, path)
}

func (s *siege) run() {
	phases := make([]phase, 0, 3)
	phases = append(phases, s.measure("alone", func() { wait(s.t.Context(), honestAlone) }))
	attack := s.startAttackers()
	attacked := s.measure("attacked", attack)
	attacked.cost = s.cost
	neighbour := newSiege(s.t, s.form)
	attack = neighbour.startAttackers()
	beside := s.measure("beside an attacked neighbour", attack)
	beside.cost = neighbour.cost
	a, b := percentile(beside.honest, 0.99), percentile(attacked.honest, 0.99)
	ratio := float64(b) / float64(max(a, 1))
	s.report(append(phases, beside, attacked), ratio)

	s.check()
	neighbour.check()
	if ratio > honestFactor {
		s.t.Errorf("the honest client's p99 is %s beside an attacked neighbour and %s during the attack: %.1f times, more than %d",
			a, b, ratio, honestFactor)
	}
}

// check fails if a process ended or had more memory than its limit, and for answers that no client may get.
func (s *siege) check() {
	s.t.Helper()
	for p, b := range s.budgets {
		select {
		case <-p.ended:
			s.t.Errorf("%s ended: %v", p.Name(), p.err)
			continue
		default:
		}
		peak, err := p.PeakMemory()
		require.NoError(s.t, err)
		if peak > b.Bytes {
			s.t.Errorf("%s had %d MiB resident, more than %d", p.Name(), peak>>20, b.Bytes>>20)
		}
	}
	for _, text := range append(s.wrong, s.outcome.Wrong...) {
		s.t.Error(text)
	}
}

// phase is what the honest client saw while something else ran.
type phase struct {
	name   string
	honest []time.Duration
	took   time.Duration
	// cost is the processor time of the attacked server.
	cost time.Duration
}

// cpuTime returns the processor time that the server has used.
func (s *siege) cpuTime() (total time.Duration) {
	for _, p := range s.o.Processes {
		used, err := p.CPUTime()
		require.NoError(s.t, err)
		total += used
	}
	return total
}

// measure runs something beside the honest client, and returns the durations of its requests.
func (s *siege) measure(name string, during func()) phase {
	ctx, cancel := context.WithCancel(s.t.Context())
	began := time.Now()
	var all []time.Duration
	var client sync.WaitGroup
	client.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			began := time.Now()
			want, r := http.StatusNoContent, s.request(http.MethodPost, "/hooks/"+s.slugs["honest"], fmt.Sprintf(`{"n": %d}`, n))
			if n%2 == 1 {
				want, r = http.StatusOK, s.request(http.MethodPost, s.tenant+"/flows/filter", `{"limit": 1}`)
				r.Header.Set("Authorization", "Bearer "+s.tenantKey)
			}
			response, err := s.honest.Do(r)
			if err != nil {
				s.fault("the honest client: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body) // Only the status and the time matter.
			_ = response.Body.Close()
			all = append(all, time.Since(began))
			if response.StatusCode != want {
				s.fault("the honest client gets %s for %s", response.Status, r.URL.Path)
			}
			wait(ctx, 10*time.Millisecond)
		}
	})
	during()
	took := time.Since(began)
	cancel()
	client.Wait()
	return phase{name: name, honest: all, took: took}
}

func (s *siege) request(method, path, body string) *http.Request {
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.o.URL+path, strings.NewReader(body))
	if err != nil {
		panic(err) // The paths are constant.
	}
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (s *siege) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wrong) < 20 {
		s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
	}
}

// startAttackers starts the attackers as a process that only runs when a processor is idle, because they are other machines outside of
// this test. They have made their bombs when it returns; attack sends them.
func (s *siege) startAttackers() (attack func()) {
	s.t.Helper()
	target, err := json.Marshal(s.target)
	require.NoError(s.t, err)
	// nice precedes the start, because setpriority changes one thread only, and a Go process has several from its start.
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), "nice", "-n", lowestPriority, os.Args[0], "-test.run=^TestAttackers$")
	cmd.Env = append(os.Environ(), attackersEnv+"="+string(target))
	cmd.Stderr = os.Stderr
	start, err := cmd.StdinPipe()
	require.NoError(s.t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	out := bufio.NewReader(stdout)
	line := func(prefix string) string {
		for {
			text, err := out.ReadString('\n')
			require.NoError(s.t, err, "the attackers end early")
			if rest, found := strings.CutPrefix(text, prefix); found {
				return rest
			}
		}
	}
	line(attackersReady)
	s.t.Cleanup(func() {
		require.NoError(s.t, start.Close())
		_, _ = io.Copy(io.Discard, out) // The lines that a test prints at its end.
		require.NoError(s.t, cmd.Wait())
	})
	return func() {
		before := s.cpuTime()
		_, err := io.WriteString(start, "\n")
		require.NoError(s.t, err)
		require.NoError(s.t, json.Unmarshal([]byte(line(attackersResult)), &s.outcome))
		s.cost = s.cpuTime() - before
	}
}

// lowestPriority makes a process run when no other wants to, whatever the priority of its parent is.
const lowestPriority = "39"

func (s *siege) report(phases []phase, ratio float64) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "entrance\tanswers")
	for _, entrance := range slices.Sorted(maps.Keys(s.outcome.Statuses)) {
		fmt.Fprintf(w, "%s\t%v\n", entrance, s.outcome.Statuses[entrance])
	}
	fmt.Fprintln(w, "\nprocess\tpeak of resident memory\tlimit\tenforced")
	for _, p := range s.o.Processes {
		if budget, ok := s.budgets[p]; ok {
			peak, err := p.PeakMemory()
			fmt.Fprintf(w, "%s\t%d MiB\t%d MiB\t%t\t%v\n", p.Name(), peak>>20, budget.Bytes>>20, budget.Enforced, err)
		}
	}
	fmt.Fprintln(w, "\nhonest client\trequests\tp50\tp99\tworst\ttook\tprocessor time of the attacked server")
	for _, p := range phases {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", p.name, len(p.honest), percentile(p.honest, 0.5), percentile(p.honest, 0.99),
			percentile(p.honest, 1), p.took.Round(100*time.Millisecond), p.cost.Round(100*time.Millisecond))
	}
	_ = w.Flush()
	s.t.Logf("p99 attacked is %.1f x p99 beside an attacked neighbour, and must be at most %d x\n%s", ratio, honestFactor, b.String())
}

// percentile returns the duration that a share of all does not exceed.
func percentile(all []time.Duration, fraction float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(fraction*float64(len(sorted))))]
}
