package beside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Row is one measurement.
type Row struct {
	Name string
	// Unit is the counted unit, and Per the number of units of one request.
	Unit string
	Per  float64
	// Floor is the minimum ratio of Orch to the reference; 0 means that the row is only printed.
	Floor float64
	// Prepare returns the request of one server, before each round. ErrAbsent skips the row.
	Prepare func(ctx context.Context, s *Server) (Op, error)
}

// ErrAbsent means that a server lacks the route of a row.
var ErrAbsent = errors.New("server does not have this route")

// Outcome is a measured row.
type Outcome struct {
	Row             Row
	Ours, Reference Figures
	Absent          bool
}

// Ratio is the rate of Orch divided by the rate of the reference.
func (o *Outcome) Ratio() float64 {
	if o.Reference.PerSecond() == 0 {
		return 0
	}
	return o.Ours.PerSecond() / o.Reference.PerSecond()
}

// settleTimeout bounds the wait for an idle server.
const settleTimeout = 10 * time.Second

// Compare measures the rows on both servers in turns. Either may be nil: then only the other is measured.
func Compare(ctx context.Context, rows []Row, reference, ours *Server, load Load, progress io.Writer) ([]Outcome, error) {
	var outcomes []Outcome
	for _, row := range rows {
		o := Outcome{Row: row}
		for round := range load.Rounds {
			for _, turn := range []struct {
				server *Server
				into   *Figures
			}{{reference, &o.Reference}, {ours, &o.Ours}} {
				if turn.server == nil || o.Absent {
					continue
				}
				if err := ctx.Err(); err != nil {
					return outcomes, err
				}
				op, err := row.Prepare(ctx, turn.server)
				if errors.Is(err, ErrAbsent) {
					o.Absent = true
					_, _ = fmt.Fprintf(progress, "%s: %s does not have it\n", row.Name, turn.server.Name)
					continue
				}
				if err != nil {
					return outcomes, fmt.Errorf("prepare %q on %s: %w", row.Name, turn.server.Name, err)
				}
				settle(turn.server, settleTimeout)
				load.round(turn.server, op, turn.into)
				_, _ = fmt.Fprintf(progress, "%s, round %d: %s %.1f %s/s so far\n", row.Name, round+1, turn.server.Name, turn.into.PerSecond()*row.Per, row.Unit)
				settle(turn.server, settleTimeout)
			}
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}
