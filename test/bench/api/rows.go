package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/test/bench/beside"
)

// page is the maximum page size of the API.
const page = 200

// batch is the number of events or logs of one request.
const batch = 50

// bench stores the fixtures of each server.
type bench struct {
	floors      map[string]float64
	seed, conns int
	flows       map[*beside.Server]string
	// stock are runs that wait for their first change of state.
	stock map[*beside.Server]chan string
}

// The rates that our server must have, as multiples of those of the reference: the single binary, and three services on MongoDB.
var (
	singleFloors   = map[string]float64{"filter200": 40, "count": 40, "get": 40, "create": 30, "setstate": 30, "events": 20, "logs": 20}
	servicesFloors = map[string]float64{"filter200": 15, "count": 20, "get": 15, "create": 15, "setstate": 20, "events": 12, "logs": 30}
)

// rows returns the measurements. Reading rows come first: they run on servers with exactly the seeded runs.
func (b *bench) rows(names string) ([]beside.Row, error) {
	all := []beside.Row{
		{Name: "filter200", Unit: "requests", Per: 1, Prepare: b.filter},
		{Name: "count", Unit: "requests", Per: 1, Prepare: b.count},
		{Name: "get", Unit: "requests", Per: 1, Prepare: b.get},
		{Name: "create", Unit: "requests", Per: 1, Prepare: b.create},
		{Name: "setstate", Unit: "requests", Per: 1, Prepare: b.setState},
		{Name: "events", Unit: "events", Per: batch, Prepare: b.events},
		{Name: "logs", Unit: "logs", Per: batch, Prepare: b.logs},
	}
	for i := range all {
		all[i].Floor = b.floors[all[i].Name]
	}
	if names == "" {
		return all, nil
	}
	var chosen []beside.Row
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(r beside.Row) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown row %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// prepare creates the flow and the runs that the reading rows read.
func (b *bench) prepare(ctx context.Context, s *beside.Server) error {
	c := s.Conn()
	defer c.Close()
	answer, err := c.Call(http.MethodPost, "/flows/", []byte(`{"name":"bench"}`))
	if err != nil {
		return err
	}
	if b.flows[s], err = idOf(answer); err != nil {
		return err
	}
	b.stock[s] = make(chan string, 100_000)
	create, err := b.create(ctx, s)
	if err != nil {
		return err
	}
	began := time.Now()
	_, err = beside.Fill(ctx, s, b.conns, b.seed, 0, create)
	fmt.Printf("%s: %d flow runs seeded in %s\n", s.Name, b.seed, time.Since(began).Round(100*time.Millisecond))
	return err
}

func idOf(answer beside.Answer) (string, error) {
	text, err := answer.Text()
	if err != nil {
		return "", err
	}
	var made struct{ ID string }
	if err := json.Unmarshal(text, &made); err != nil {
		return "", fmt.Errorf("decode id: %w", err)
	}
	return made.ID, nil
}

func (b *bench) create(_ context.Context, s *beside.Server) (beside.Op, error) {
	body := []byte(`{"flow_id":"` + b.flows[s] + `","name":"bench-run","parameters":{"x":1,"y":"two"},"tags":["bench"],"state":{"type":"PENDING","name":"Pending"}}`)
	return func(c *beside.Conn, _ int) error {
		_, err := c.Call(http.MethodPost, "/flow_runs/", body, http.StatusCreated)
		return err
	}, nil
}

// setState changes runs from Scheduled through Pending and Running to Completed. The runs are created before the round.
func (b *bench) setState(ctx context.Context, s *beside.Server) (beside.Op, error) {
	fresh := []byte(`{"flow_id":"` + b.flows[s] + `","state":{"type":"SCHEDULED","name":"Scheduled"}}`)
	stock := b.stock[s]
	// Creating a run is cheaper than three changes of its state, so the runs created in this time suffice.
	_, err := beside.Fill(ctx, s, b.conns, cap(stock)-len(stock), 4*time.Second, func(c *beside.Conn, _ int) error {
		answer, err := c.Call(http.MethodPost, "/flow_runs/", fresh, http.StatusCreated)
		if err != nil {
			return err
		}
		id, err := idOf(answer)
		stock <- id
		return err
	})
	if err != nil {
		return nil, err
	}
	bodies := [][]byte{
		[]byte(`{"state":{"type":"PENDING","name":"Pending"},"force":false}`),
		[]byte(`{"state":{"type":"RUNNING","name":"Running"},"force":false}`),
		[]byte(`{"state":{"type":"COMPLETED","name":"Completed"},"force":false}`),
	}
	type walk struct {
		id   string
		step int
	}
	walks := make([]walk, b.conns)
	return func(c *beside.Conn, worker int) error {
		at := &walks[worker]
		if at.step %= len(bodies); at.step == 0 {
			select {
			case at.id = <-stock:
			default:
				return errors.New("no run left to change")
			}
		}
		// 201: the server wrote a state, so it accepted the proposal.
		_, err := c.Call(http.MethodPost, "/flow_runs/"+at.id+"/set_state", bodies[at.step], http.StatusCreated)
		if at.step++; err != nil {
			at.step = 0
		}
		return err
	}, nil
}

// filter reads pages as the client and the dashboard do: newest first, of one flow by its name.
func (b *bench) filter(_ context.Context, s *beside.Server) (beside.Op, error) {
	ask := func(c *beside.Conn) (beside.Answer, error) {
		offset := strconv.Itoa(rand.IntN(max(b.seed/page, 1)) * page)
		body := `{"limit":200,"offset":` + offset + `,"sort":"START_TIME_DESC","flows":{"name":{"any_":["bench"]}}}`
		return c.Call(http.MethodPost, "/flow_runs/filter", []byte(body), http.StatusOK)
	}
	// Check the response once; in the loop that would cost more than the server.
	c := s.Conn()
	defer c.Close()
	answer, err := ask(c)
	if err != nil {
		return nil, err
	}
	text, err := answer.Text()
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(`"flow_id"`)); n != min(page, b.seed) {
		return nil, fmt.Errorf("a page has %d runs", n)
	}
	return func(c *beside.Conn, _ int) error {
		_, err := ask(c)
		return err
	}, nil
}

func (b *bench) count(_ context.Context, s *beside.Server) (beside.Op, error) {
	body := []byte(`{"flow_runs":{"state":{"type":{"any_":["PENDING","COMPLETED"]}}}}`)
	c := s.Conn()
	defer c.Close()
	answer, err := c.Call(http.MethodPost, "/flow_runs/count", body, http.StatusOK)
	if err != nil {
		return nil, err
	}
	fmt.Printf("%s: a count answers %s\n", s.Name, answer.Body)
	return func(c *beside.Conn, _ int) error {
		_, err := c.Call(http.MethodPost, "/flow_runs/count", body, http.StatusOK)
		return err
	}, nil
}

func (b *bench) get(_ context.Context, s *beside.Server) (beside.Op, error) {
	c := s.Conn()
	defer c.Close()
	answer, err := c.Call(http.MethodPost, "/flow_runs/filter", []byte(`{"limit":200}`), http.StatusOK)
	if err != nil {
		return nil, err
	}
	text, err := answer.Text()
	if err != nil {
		return nil, err
	}
	var runs []struct{ ID string }
	if err := json.Unmarshal(text, &runs); err != nil {
		return nil, fmt.Errorf("decode page of runs: %w", err)
	}
	if len(runs) == 0 {
		return nil, errors.New("no runs to read")
	}
	return func(c *beside.Conn, _ int) error {
		_, err := c.Call(http.MethodGet, "/flow_runs/"+runs[rand.IntN(len(runs))].ID, nil, http.StatusOK)
		return err
	}, nil
}

func (b *bench) events(_ context.Context, s *beside.Server) (beside.Op, error) {
	return present(s, func(c *beside.Conn, _ int) error {
		body := []byte{'['}
		now := time.Now().UTC().Format(time.RFC3339Nano)
		for i := range batch {
			if i > 0 {
				body = append(body, ',')
			}
			body = append(append(body, `{"id":"`...), uuid.NewString()...)
			body = append(append(body, `","occurred":"`...), now...)
			body = append(body, `","event":"bench.event","resource":{"prefect.resource.id":"bench.res.1"},`...)
			body = append(body, `"related":[{"prefect.resource.id":"bench.rel.1","prefect.resource.role":"flow"}],"payload":{"k":"v","n":`...)
			body = append(strconv.AppendInt(body, int64(i), 10), "}}"...)
		}
		_, err := c.Call(http.MethodPost, "/events", append(body, ']'))
		return err
	})
}

func (b *bench) logs(_ context.Context, s *beside.Server) (beside.Op, error) {
	run := uuid.NewString()
	return present(s, func(c *beside.Conn, _ int) error {
		body := []byte{'['}
		now := time.Now().UTC().Format(time.RFC3339Nano)
		for i := range batch {
			if i > 0 {
				body = append(body, ',')
			}
			body = append(body, `{"name":"prefect.flow_runs","level":20,"message":"bench message number that is of a usual length","timestamp":"`...)
			body = append(append(append(append(body, now...), `","flow_run_id":"`...), run...), `"}`...)
		}
		_, err := c.Call(http.MethodPost, "/logs/", append(body, ']'), http.StatusCreated)
		return err
	})
}

// present tries a request once: the server may lack the route.
func present(s *beside.Server, op beside.Op) (beside.Op, error) {
	c := s.Conn()
	defer c.Close()
	err := op(c, 0)
	var status *beside.StatusError
	if errors.As(err, &status) && (status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed) {
		return nil, beside.ErrAbsent
	}
	return op, err
}
