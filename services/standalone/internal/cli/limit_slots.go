package cli

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// slotUser holds slots of a limit, or waits for them.
type slotUser struct {
	Holder *struct {
		Type string
		ID   string
	}
	Slots   int64
	Since   *time.Time
	Expires *time.Time
	waiting bool
}

func (u slotUser) cells() []string {
	kind, id, since, expires := "-", "-", "-", "never"
	if u.Holder != nil {
		kind, id = u.Holder.Type, u.Holder.ID
	}
	state := "holds"
	if u.waiting {
		state, expires = "waits", "-"
	}
	if u.Since != nil {
		since = time.Since(*u.Since).Round(time.Second).String()
	}
	if u.Expires != nil {
		expires = time.Until(*u.Expires).Round(time.Second).String()
	}
	return []string{id, kind, state, strconv.FormatInt(u.Slots, 10), since, expires}
}

func limitSlotsCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "slots LIMIT",
		Short: "Show who holds the slots of a limit, and who waits for them",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := limitResource.locate(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, path+"/slots", nil)
			if err != nil {
				return fmt.Errorf("read the slots of %q: %w", args[0], err)
			}
			if c.output == outputJSON {
				return printJSON(cmd.OutOrStdout(), answer)
			}
			slots, err := remote.Decode[struct {
				Holders, Waiters  []slotUser
				SlotsWithoutLease int64 `json:"slots_without_lease"`
			}](answer)
			if err != nil {
				return err
			}
			users := slots.Holders
			if n := slots.SlotsWithoutLease; n > 0 {
				users = append(users, slotUser{Slots: n})
			}
			for _, waiter := range slots.Waiters {
				waiter.waiting = true
				users = append(users, waiter)
			}
			return printTable(c, cmd, tableForm[slotUser]{head: []string{"ID", "TYPE", "STATE", "SLOTS", "AGE", "EXPIRES IN"}, row: slotUser.cells}, users)
		},
	}
}
