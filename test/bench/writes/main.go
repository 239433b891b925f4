// Command writes counts the writes of requests to the store: the keys of documents and index entries, deleted ones included, and the bytes of
// the log. It counts in the single binary, and with -mongodb in the three services on a MongoDB server.
//
//	make bench-writes
//	make bench-writes BENCHFLAGS='-n 200'
//
// Each figure is the mean of many requests, with the effects that follow them: events, totals, removals of executed effects.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-writes", run) }

func run(ctx context.Context) error {
	bin := flag.String("bin", "bin", "the directory of the programs")
	mongodb := flag.String("mongodb", "", "measure the three services on this MongoDB server")
	n := flag.Int("n", 500, "number of requests of a kind")
	flag.Parse()
	server, meter, err := start(*bin, *mongodb)
	if err != nil {
		return err
	}
	c := &client{conn: server.Conn()}
	defer c.conn.Close()
	err = c.measure(ctx, meter, *n)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, server.Output())
	}
	return errors.Join(err, meter.close(), server.Stop())
}

// start starts a server, and a meter of its store.
func start(bin, mongodb string) (*beside.Server, meter, error) {
	if mongodb == "" {
		internal, err := beside.FreeAddress()
		if err != nil {
			return nil, nil, err
		}
		server, err := beside.StartOrch(filepath.Join(bin, "orch"), "ORCH_INTERNAL_LISTEN="+internal)
		return server, embedded{internal}, err
	}
	m, err := connect(mongodb)
	if err != nil {
		return nil, nil, err
	}
	server, err := beside.StartServices(bin, mongodb, "ORCH_MONGODB_DATABASE=writes_"+strings.ReplaceAll(uuid.NewString(), "-", ""))
	if err != nil {
		return nil, nil, errors.Join(err, m.close())
	}
	return server, m, nil
}

// row is a kind of request. It may stand for several documents, such as the events of a batch.
type row struct {
	name      string
	documents int
	do        func(i int) error
}

// measure prints a line for each kind of request.
func (c *client) measure(ctx context.Context, m meter, n int) error {
	if err := c.prepare(); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	fmt.Printf("%-52s %10s %14s\n", "each", "keys", "bytes of log")
	for _, r := range c.rows(n) {
		before, err := settled(ctx, m)
		if err != nil {
			return err
		}
		for i := range n {
			if err := r.do(i); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
		after, err := settled(ctx, m)
		if err != nil {
			return err
		}
		each := float64(n * r.documents)
		fmt.Printf("%-52s %10.1f %14.0f\n", r.name, (after.keys-before.keys)/each, (after.bytes-before.bytes)/each)
	}
	return nil
}

const (
	// quietFor is the time without effects of earlier requests, and quietKeys the number of keys that timers of the server write meanwhile.
	quietFor  = 4 * time.Second
	quietKeys = 100
	// quietTimeout bounds the wait for it.
	quietTimeout = 2 * time.Minute
)

// settled waits until the effects of earlier requests are written, and returns the counts.
func settled(ctx context.Context, m meter) (written, error) {
	ctx, cancel := context.WithTimeout(ctx, quietTimeout)
	defer cancel()
	for last := (written{}); ; {
		now, err := m.read(ctx)
		if err != nil || last.keys > 0 && now.keys-last.keys < quietKeys {
			return now, err
		}
		last = now
		select {
		case <-ctx.Done():
			return now, fmt.Errorf("wait until the store is quiet: %w", ctx.Err())
		case <-time.After(quietFor):
		}
	}
}

// client sends the requests.
type client struct {
	conn             *beside.Conn
	flow, deployment string
	runs, taskRuns   []string
}

func (c *client) post(path, body string, into any) error {
	answer, err := c.conn.Call(http.MethodPost, path, []byte(body))
	if err != nil || into == nil {
		return err
	}
	return answer.Decode(into)
}

// created is the response to the creation of an object.
type created struct {
	ID string `json:"id"`
}

// prepare creates a flow with a deployment in a work pool.
func (c *client) prepare() error {
	var flow, deployment created
	if err := c.post("/flows/", `{"name":"writes"}`, &flow); err != nil {
		return err
	}
	if err := c.post("/work_pools/", `{"name":"writes","type":"process"}`, nil); err != nil {
		return err
	}
	body := `{"name":"writes","flow_id":"` + flow.ID + `","work_pool_name":"writes"}`
	err := c.post("/deployments/", body, &deployment)
	c.flow, c.deployment = flow.ID, deployment.ID
	return err
}

// states are the states of a run, in order.
var states = []string{"PENDING", "RUNNING", "COMPLETED"}

func (c *client) rows(n int) []row {
	c.runs, c.taskRuns = make([]string, n), make([]string, n)
	createRun := func(i int) error {
		var run created
		err := c.post("/deployments/"+c.deployment+"/create_flow_run", `{"tags":["writes"],"state":{"type":"SCHEDULED"}}`, &run)
		c.runs[i] = run.ID
		return err
	}
	createTaskRun := func(i int) error {
		var run created
		body := `{"flow_run_id":"` + c.runs[i] + `","task_key":"write","dynamic_key":"` + uuid.NewString() + `","state":{"type":"PENDING"}}`
		err := c.post("/task_runs/", body, &run)
		c.taskRuns[i] = run.ID
		return err
	}
	setState := func(collection, id, state string) error {
		return c.post("/"+collection+"/"+id+"/set_state", `{"state":{"type":"`+state+`"}}`, nil)
	}
	all := []row{{"creation of a deployment's run with a tag", 1, createRun}}
	for _, state := range states {
		all = append(all, row{"its state " + state, 1, func(i int) error { return setState("flow_runs", c.runs[i], state) }})
	}
	return append(all,
		row{"creation, PENDING, RUNNING and COMPLETED at once", 1, func(i int) error {
			err := createRun(i)
			for _, state := range states {
				err = errors.Join(err, setState("flow_runs", c.runs[i], state))
			}
			return err
		}},
		row{"creation of a task run", 1, createTaskRun},
		row{"creation of a task run, RUNNING and COMPLETED", 1, func(i int) error {
			err := createTaskRun(i)
			for _, state := range states[1:] {
				err = errors.Join(err, setState("task_runs", c.taskRuns[i], state))
			}
			return err
		}},
		row{"event", batch, func(int) error { return c.post("/events", "["+repeat(event)+"]", nil) }},
		row{"log line", batch, func(i int) error {
			return c.post("/logs/", "["+repeat(func() string { return line(c.runs[i]) })+"]", nil)
		}},
	)
}

// batch is the number of events or log lines of a request.
const batch = 20

// repeat returns the items of a batch.
func repeat(item func() string) string {
	items := make([]string, batch)
	for i := range items {
		items[i] = item()
	}
	return strings.Join(items, ",")
}

func event() string {
	return `{"id":"` + uuid.NewString() + `","occurred":"` + time.Now().UTC().Format(time.RFC3339Nano) + `","event":"order.paid",
		"resource":{"prefect.resource.id":"order.1"},"related":[{"prefect.resource.id":"shop.1","prefect.resource.role":"shop"}],"payload":{"total":12.5}}`
}

func line(run string) string {
	return `{"name":"prefect.flow_runs","level":20,"message":"Finished in state Completed()","timestamp":"` + time.Now().UTC().Format(time.RFC3339Nano) +
		`","flow_run_id":"` + run + `"}`
}
