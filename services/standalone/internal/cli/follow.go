package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"
)

// followOverlap is how far back each poll reads: records are stored a moment after their time, and not in order.
const followOverlap = 10 * time.Second

// stream describes records that a command follows.
type stream struct {
	// fetch returns the records since a time, oldest first.
	fetch func(since time.Time) ([]json.RawMessage, error)
	// read returns the id and the time of a record, and its line for a person.
	read func(text json.RawMessage) (id string, at time.Time, line string, err error)
	// done reports that nothing more will arrive; nil for streams without an end.
	done func() (bool, error)
	// limit is the number of records from which on a fetch may have left out later ones; 0 for fetches that return all.
	limit int
}

// follow prints each record of a stream once, from a time on, until it ends or is interrupted: a line each, or a record each
// with --output json or yaml.
func (c *connection) follow(cmd *cobra.Command, begin time.Time, every time.Duration, s stream) error {
	seen := map[string]time.Time{}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	last, full := begin, false
	for {
		ended := false
		if s.done != nil {
			var err error
			if ended, err = s.done(); err != nil && cmd.Context().Err() == nil {
				return err
			}
		}
		oldest := last.Add(-followOverlap)
		since := oldest
		if full { // The next records are after this page; those of the overlap would fill the next one too.
			since = last
		}
		if since.Before(begin) {
			since = begin
		}
		page, err := s.fetch(since)
		switch {
		case cmd.Context().Err() != nil:
			return nil // Interrupted, as it must be.
		case err != nil:
			return err
		}
		maps.DeleteFunc(seen, func(_ string, at time.Time) bool { return at.Before(oldest) })
		shown := 0
		for _, text := range page {
			id, at, line, err := s.read(text)
			if err != nil {
				return err
			}
			if _, ok := seen[id]; ok {
				continue
			}
			shown++
			seen[id] = at
			last = latest(last, at)
			if c.output == outputJSON {
				err = printLine(cmd.OutOrStdout(), text)
			} else {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			if err != nil {
				return err
			}
		}
		again := s.limit > 0 && len(page) >= s.limit && (shown > 0 || !full)
		if full = again; again {
			continue
		}
		if ended {
			return nil
		}
		select {
		case <-ticker.C:
		case <-cmd.Context().Done():
			return nil
		}
	}
}

// latest returns the later one of two times, but none of the future: a sender whose clock is ahead must not hide the others.
func latest(last, at time.Time) time.Time {
	if now := time.Now(); at.After(now) {
		at = now
	}
	if at.After(last) {
		return at
	}
	return last
}
