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
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
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
	// honestFactor bounds the honest client's p99 during the attack by that beside the same attackers of another server.
	honestFactor = 2
	// hostileRounds is how often each bomb is sent.
	hostileRounds = 3
)

// TestHostile sends each bomb on each entrance, all in parallel, to processes with the memory limit of a container. No process
// ends, and no answer is a 500. An honest client's p99 is at most honestFactor times that beside the same attackers of an idle server,
// because the attackers share the processors of this machine. The report has the figures of the client alone too.
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
}

func newSiege(t *testing.T, form form) *siege {
	s := &siege{
		t: t, o: form.start(t, "ORCH_AUTH=keys", hostileGoMemory), budgets: map[*Process]*MemoryBudget{},
		honest: &http.Client{Timeout: startTimeout},
	}
	for i, p := range s.o.Processes {
		if p.Name() == "orch infra" {
			continue // NATS and MongoDB have limits of their own.
		}
		b := NewMemoryBudget(t, fmt.Sprintf("%d-%s", i, strings.ReplaceAll(p.Name(), " ", "-")), hostileMemory)
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
	attack := s.startAttackers()
	alone := s.measure(func() { wait(s.t.Context(), honestAlone) })
	began := time.Now()
	attacked := s.measure(func() { s.outcome = attack(s.o.URL) })
	s.wrong = append(s.wrong, s.outcome.Wrong...)
	idle := s.startIdleServer(time.Since(began))
	beside := s.measure(func() { attack(idle) })
	s.report(map[string][]time.Duration{"alone": alone, "beside the attackers of an idle server": beside, "during the attack": attacked})

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
	for _, text := range s.wrong {
		s.t.Error(text)
	}
	if a, b := percentile(beside, 0.99), percentile(attacked, 0.99); b > honestFactor*a {
		s.t.Errorf("the honest client's p99 rises from %s to %s during the attack", a, b)
	}
}

// measure runs something beside the honest client, and returns the durations of its requests.
func (s *siege) measure(during func()) []time.Duration {
	ctx, cancel := context.WithCancel(s.t.Context())
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
	cancel()
	client.Wait()
	return all
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
// this test. They have made their bombs when it returns; attack sends them to a server.
func (s *siege) startAttackers() (attack func(url string) outcome) {
	s.t.Helper()
	target, err := json.Marshal(s.target)
	require.NoError(s.t, err)
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), os.Args[0], "-test.run=^TestAttackers$")
	cmd.Env = append(os.Environ(), attackersEnv+"="+string(target))
	cmd.Stderr = os.Stderr
	targets, err := cmd.StdinPipe()
	require.NoError(s.t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, lowestPriority); err != nil {
		s.t.Logf("the attackers compete with the server: %v", err)
	}
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
		require.NoError(s.t, targets.Close())
		_, _ = io.Copy(io.Discard, out) // The lines that a test prints at its end.
		require.NoError(s.t, cmd.Wait())
	})
	return func(url string) (seen outcome) {
		_, err := io.WriteString(targets, url+"\n")
		require.NoError(s.t, err)
		require.NoError(s.t, json.Unmarshal([]byte(line(attackersResult)), &seen))
		return seen
	}
}

// startIdleServer starts a server that reads requests and refuses them, one after another, at the rate at which the attack was answered
// within a time. So its attackers send for as long.
func (s *siege) startIdleServer(within time.Duration) (url string) {
	answers := 0
	for _, statuses := range s.outcome.Statuses {
		for _, n := range statuses {
			answers += n
		}
	}
	var turn sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // An attacker may go.
		turn.Lock()
		defer turn.Unlock()
		wait(r.Context(), within/time.Duration(max(1, answers)))
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	s.t.Cleanup(server.Close)
	return server.URL
}

// lowestPriority is that of a process which runs when no other wants to.
const lowestPriority = 19

func (s *siege) report(honest map[string][]time.Duration) {
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
	fmt.Fprintln(w, "\nhonest client\trequests\tp50\tp99\tworst")
	for _, name := range slices.Sorted(maps.Keys(honest)) {
		all := honest[name]
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", name, len(all), percentile(all, 0.5), percentile(all, 0.99), percentile(all, 1))
	}
	_ = w.Flush()
	s.t.Log("\n" + b.String())
}

// percentile returns the duration that a share of all does not exceed.
func percentile(all []time.Duration, fraction float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(fraction*float64(len(sorted))))]
}
