package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestFollowShowsAllOfAFlood: more records than a fetch returns, within the overlap of two fetches, are all shown, once. A record
// of the future hides no other.
func TestFollowShowsAllOfAFlood(t *testing.T) {
	type record struct {
		ID string    `json:"id"`
		At time.Time `json:"at"`
	}
	const limit = 100
	begin := time.Now().Add(-time.Minute)
	var all []record
	for i := range 1050 {
		all = append(all, record{fmt.Sprint("r", i), begin.Add(time.Duration(i) * time.Millisecond)})
	}
	all = append(all, record{"future", time.Now().Add(time.Hour)})
	polls := 0
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetOut(&out)
	err := (&connection{output: outputTable}).follow(cmd, begin, time.Millisecond, stream{
		limit: limit,
		fetch: func(since time.Time) ([]json.RawMessage, error) {
			polls++
			if polls == 20 {
				all = append(all, record{"late", time.Now()})
			}
			var page []json.RawMessage
			for _, r := range all {
				if !r.At.Before(since) && len(page) < limit {
					text, err := json.Marshal(r)
					if err != nil {
						return nil, err
					}
					page = append(page, text)
				}
			}
			return page, nil
		},
		read: func(text json.RawMessage) (string, time.Time, string, error) {
			var r record
			err := json.Unmarshal(text, &r)
			return r.ID, r.At, r.ID, err
		},
		done: func() (bool, error) { return polls >= 30, nil },
	})
	require.NoError(t, err)
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	require.Len(t, lines, len(all))
	require.Equal(t, "late", string(lines[len(lines)-1]))
}
