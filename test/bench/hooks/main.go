// Command hooks measures webhook ingestion in one process. 64 clients post 1 KiB of a GitHub request, a template
// renders an event, and the event is on disk before the response. For comparison it measures an HTTP server that only
// reads bodies, and the broker alone, with the same clients. It exits with 1 when a result misses its bound.
//
//	clients ──▶ baseline: reads, returns 204         the maximum of this machine
//	clients ──▶ orch: template, broker, fsync, 204    accepted
//	                                   └──▶ store     persisted, until every event can be read
//	clients ──▶ orch, while others post to a webhook whose template never ends
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

// The bounds.
const (
	minShare    = 0.35
	maxP99      = 25 * time.Millisecond
	maxReadable = 5 * time.Second
	maxSlowdown = 1.5
)

func main() { beside.Main("bench-hooks", run) }

func run(ctx context.Context) error {
	orch := flag.String("orch", "bin/orch", "the binary")
	clients := flag.Int("clients", 64, "how many clients post at once")
	length := flag.Duration("length", 10*time.Second, "how long each load lasts")
	profile := flag.String("profile", "", "write a CPU profile of the server under load to this file, and what it allocated to the same with .allocs; then print the shares of the parts of the pipeline")
	only := flag.Bool("accepted", false, "measure accepted requests alone, to compare versions in turns: processor time and allocation are comparable on a busy machine, rates are not")
	baseline := flag.Bool("nothing", false, "be the server that does nothing; for this command itself")
	flag.Parse()
	if *baseline {
		return serveNothing(ctx)
	}
	b := bench{binary: *orch, profile: *profile, clients: *clients, length: *length}
	if *only {
		return b.acceptedOnly(ctx)
	}
	return b.measure(ctx)
}

// bench is what is measured, and how.
type bench struct {
	binary, profile string
	clients         int
	length          time.Duration
}

// serveNothing reads bodies and returns 204. The first line of its output is its address.
func serveNothing(ctx context.Context) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// nothing starts this HTTP server in its own process.
func nothing(ctx context.Context) (address string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, "-nothing")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("start the baseline server: %w", err)
	}
	stop = func() {
		cancel()
		_ = cmd.Wait() // It was killed.
	}
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("read the address of the baseline server: %w", err)
	}
	return string(bytes.TrimSpace(line[:n])), stop, nil
}

func (b *bench) measure(ctx context.Context) error {
	address, stop, err := nothing(ctx)
	if err != nil {
		return err
	}
	idle, err := load(ctx, address, "/hooks/nothing", b.clients, b.length)
	stop()
	if err != nil {
		return fmt.Errorf("load the baseline server: %w", err)
	}
	fmt.Printf("nothing:     %8.0f requests/s, p50 %s, p99 %s\n", idle.perSecond(), ms(idle.quantile(.5)), ms(idle.quantile(.99)))

	frames, err := brokerAlone(ctx, b.clients, b.length/2)
	if err != nil {
		return fmt.Errorf("load the broker alone: %w", err)
	}
	fmt.Printf("broker:      %8.0f events/s in frames, fsynced, without HTTP, templates and store\n", frames)

	return b.withServer(func(server *beside.Server, internal string) error {
		good, accepted, err := b.accepted(ctx, server, internal, idle)
		if err != nil {
			return err
		}
		slowdown, err := hostile(ctx, server, good, b.clients, b.length)
		if err == nil && slowdown > maxSlowdown {
			err = fmt.Errorf("a hostile template makes others %.2f times as slow, more than %.2f", slowdown, maxSlowdown)
		}
		return errors.Join(accepted, err)
	})
}

// acceptedOnly measures accepted requests without anything to compare them with.
func (b *bench) acceptedOnly(ctx context.Context) error {
	return b.withServer(func(server *beside.Server, internal string) error {
		_, _, err := b.accepted(ctx, server, internal, nil)
		return err
	})
}

// metricAllocated is how much the server has allocated since its start, in bytes.
const metricAllocated = "go_memstats_alloc_bytes_total"

// withServer starts a server with an internal address and stops it after use.
func (b *bench) withServer(use func(server *beside.Server, internal string) error) error {
	internal, err := beside.FreeAddress()
	if err != nil {
		return err
	}
	server, err := beside.StartOrch(b.binary, "ORCH_INTERNAL_LISTEN="+internal, "ORCH_PROFILES=true")
	if err != nil {
		return err
	}
	return errors.Join(use(server, internal), server.Stop())
}

// writeProfiles writes CPU and allocation profiles of the server. On an error it writes no file; the figures are valid
// all the same.
func writeProfiles(internal, path string, length time.Duration) {
	seconds := fmt.Sprintf("?seconds=%d", max(1, int(length.Seconds())))
	var both sync.WaitGroup
	both.Go(func() { writeProfile("http://"+internal+"/debug/pprof/allocs"+seconds, path+".allocs") })
	both.Go(func() { writeProfile("http://"+internal+"/debug/pprof/profile"+seconds, path) })
	both.Wait()
}

func writeProfile(address, path string) {
	response, err := http.Get(address)
	if err == nil {
		defer response.Body.Close()
		var text []byte
		if text, err = io.ReadAll(response.Body); err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hooks: no profile:", err)
	}
}

// accepted loads a webhook. It returns the path of the webhook and what missed its bound; without idle nothing has a bound.
func (b *bench) accepted(ctx context.Context, server *beside.Server, internal string, idle *figures) (good string, missed, err error) {
	api := server.Conn()
	defer api.Close()
	if good, err = create(api, "good", template); err != nil {
		return "", nil, err
	}
	if _, err := load(ctx, server.Address, good, b.clients, b.length/5); err != nil { // Warm up.
		return "", nil, err
	}
	before, err := count(api)
	if err != nil {
		return "", nil, err
	}
	profiled := make(chan struct{})
	go func() {
		defer close(profiled)
		if b.profile != "" {
			writeProfiles(internal, b.profile, b.length)
		}
	}()
	allocated, err := beside.Metric(internal, metricAllocated)
	if err != nil {
		return "", nil, err
	}
	spent, _ := server.Taken()
	start := time.Now()
	accepted, err := load(ctx, server.Address, good, b.clients, b.length)
	if err != nil {
		return "", nil, err
	}
	last := time.Now()
	under, resident := server.Taken()
	fraction := 0.0
	if idle != nil {
		fraction = accepted.perSecond() / idle.perSecond()
	}
	fmt.Printf("accepted:    %8.0f requests/s, p50 %s, p99 %s; %.2f of nothing (bound %.2f, p99 %s)\n",
		accepted.perSecond(), ms(accepted.quantile(.5)), ms(accepted.quantile(.99)), fraction, minShare, maxP99)
	readable, err := awaitEvents(ctx, api, before, int64(len(accepted.times)))
	if err != nil {
		return "", nil, err
	}
	after, _ := server.Taken()
	total, err := beside.Metric(internal, metricAllocated)
	if err != nil {
		return "", nil, err
	}
	each := func(cpu time.Duration) time.Duration { return cpu / time.Duration(len(accepted.times)) }
	fmt.Printf("taken:       %s of processor time for a request under load, %s until all was readable; %.1f KB allocated for a request; %d MB resident\n",
		each(under-spent), each(after-spent), (total-allocated)/1024/float64(len(accepted.times)), resident>>20)
	fmt.Printf("persisted:   %8.0f events/s; all %d readable %s after the last 204 (bound %s)\n",
		float64(len(accepted.times))/readable.Sub(start).Seconds(), len(accepted.times), readable.Sub(last).Round(10*time.Millisecond), maxReadable)
	<-profiled
	if b.profile != "" {
		err := printShares(ctx, os.Stdout, "processor time", b.profile, "cpu", "us", len(accepted.times))
		if err == nil {
			err = printShares(ctx, os.Stdout, "allocation", b.profile+".allocs", "alloc_space", "kB", len(accepted.times))
		}
		if err != nil {
			return "", nil, err
		}
	}
	if idle == nil {
		return good, nil, nil
	}
	if fraction < minShare {
		missed = errors.Join(missed, fmt.Errorf("accepted is %.2f of nothing, less than %.2f", fraction, minShare))
	}
	if p99 := accepted.quantile(.99); p99 > maxP99 {
		missed = errors.Join(missed, fmt.Errorf("p99 is %s, more than %s", ms(p99), maxP99))
	}
	if late := readable.Sub(last); late > maxReadable {
		missed = errors.Join(missed, fmt.Errorf("the last event is readable after %s, more than %s", late, maxReadable))
	}
	return good, missed, nil
}

// hostile compares the p99 of a webhook with and without load on another webhook whose template exhausts its budget.
// The clients do not saturate the machine: on a saturated machine every request would be slower.
func hostile(ctx context.Context, server *beside.Server, good string, clients int, length time.Duration) (float64, error) {
	api := server.Conn()
	defer api.Close()
	bad, err := create(api, "bad", endless)
	if err != nil {
		return 0, err
	}
	few := max(1, clients/8)
	calm, err := load(ctx, server.Address, good, few, length/2)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- annoy(ctx, server.Address, bad, 4) }()
	disturbed, err := load(ctx, server.Address, good, few, length/2)
	if err != nil {
		return 0, err
	}
	cancel()
	annoyed := <-ended
	slowdown := float64(disturbed.quantile(.99)) / float64(calm.quantile(.99))
	fmt.Printf("hostile:     p99 of another webhook %s instead of %s: %.2f times (bound %.2f); %d hostile requests were refused meanwhile\n",
		ms(disturbed.quantile(.99)), ms(calm.quantile(.99)), slowdown, maxSlowdown, annoyed)
	return slowdown, nil
}

func create(api *beside.Conn, name, template string) (path string, err error) {
	body, err := json.Marshal(map[string]string{"name": name, "template": template})
	if err != nil {
		return "", err
	}
	answer, err := api.Call(http.MethodPost, "/webhooks/", body, http.StatusCreated)
	if err != nil {
		return "", err
	}
	text, err := answer.Text()
	if err != nil {
		return "", err
	}
	var w struct{ Slug string }
	if err := json.Unmarshal(text, &w); err != nil {
		return "", err
	}
	return "/hooks/" + w.Slug, nil
}

// count returns the number of readable events of the good webhook.
func count(api *beside.Conn) (int64, error) {
	answer, err := api.Call(http.MethodPost, "/events/filter", []byte(`{"filter": {"event": {"name": ["github.push"]}}, "limit": 1}`))
	if err != nil {
		return 0, err
	}
	text, err := answer.Text()
	if err != nil {
		return 0, err
	}
	var page struct{ Total int64 }
	err = json.Unmarshal(text, &page)
	return page.Total, err
}

// awaitEvents waits until that many more events are readable, and returns that time.
func awaitEvents(ctx context.Context, api *beside.Conn, before, more int64) (time.Time, error) {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		n, err := count(api)
		now := time.Now()
		if err != nil || n >= before+more {
			return now, err
		}
		if now.After(deadline) {
			return now, fmt.Errorf("%d of %d events are readable after two minutes", n-before, more)
		}
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
