package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// The delivery log follows a response. A refusal that shares the entry of its minute with others does not appear in time.
const (
	refusalTimeout  = 5 * time.Second
	refusalInterval = 100 * time.Millisecond
)

// newestDelivery returns the id of the newest entry of a webhook's delivery log; empty if there is none.
func newestDelivery(ctx context.Context, s *remote.Server, path string) (string, error) {
	found, err := remote.Read[[]delivery](ctx, s, http.MethodPost, path+"/deliveries/filter", map[string]any{"limit": 1})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].ID, nil
}

// showRefusal waits until the delivery log has a failure that is newer than a delivery, and returns its reason as an error.
func (c *connection) showRefusal(cmd *cobra.Command, s *remote.Server, path, newest string, w webhookSummary) error {
	answer, err := newRefusal(cmd.Context(), s, path, newest)
	if err != nil {
		return err
	}
	if answer == nil {
		return fmt.Errorf("%w: the delivery log has no entry of it yet; look again with: orch webhook deliveries %q", errRefused, w.Name)
	}
	d, err := remote.Decode[delivery](answer)
	if err != nil {
		return err
	}
	r, err := remote.Decode[request](answer)
	if err != nil {
		return err
	}
	reason := "refused"
	if d.Reason != nil {
		reason = *d.Reason
	}
	if c.output != outputJSON {
		fmt.Fprint(cmd.OutOrStdout(), sourceLine(w.sourceOf(reason, r.Rendered), d.ErrorLine, d.ErrorColumn))
	}
	return fmt.Errorf("%w: %s: %s", errRefused, reason, d.result())
}

// newRefusal returns the first failure after a delivery, or nil after a time-out.
func newRefusal(ctx context.Context, s *remote.Server, path, newest string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, refusalTimeout)
	defer cancel()
	ticker := time.NewTicker(refusalInterval)
	defer ticker.Stop()
	for {
		page, err := remote.Read[[]json.RawMessage](ctx, s, http.MethodPost, path+"/deliveries/filter", map[string]any{"limit": refusalPage})
		switch {
		case ctx.Err() != nil:
			return nil, nil //nolint:nilnil // See above.
		case err != nil:
			return nil, err
		}
		var first json.RawMessage // The page has the newest first.
		for _, entry := range page {
			d, err := remote.Decode[delivery](entry)
			if err != nil {
				return nil, err
			}
			if d.ID == newest {
				break
			}
			if d.Status >= http.StatusBadRequest {
				first = entry
			}
		}
		if first != nil {
			return first, nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// refusalPage is the number of entries that may arrive from other senders meanwhile.
const refusalPage = 20
