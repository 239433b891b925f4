package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/schedule"
)

// defaultNext is how many times are printed if none are asked for.
const defaultNext = 5

func scheduleNextCommand() *cobra.Command {
	var flags struct {
		interval, anchor, rrule, timezone, start string
		n                                        int
		dayAnd, stdio                            bool
	}
	cmd := &cobra.Command{
		Use:   "next [CRON]",
		Short: "Print the next times of a cron expression, an interval or a recurrence rule",
		Long: `Print the next times of a schedule, as the scheduler computes them, in the schedule's zone.

  orch schedule next "0 9 * * 1-5" --timezone Europe/Berlin
  orch schedule next --interval PT6H --anchor 2026-01-01T00:00:00Z
  orch schedule next --rrule "FREQ=MONTHLY;BYDAY=-1FR" -n 12

With --stdio one JSON object a line is read, {"schedule", "start", "n", "end"} or {"expr", "tz", "start"}, and one is
written for each: {"times"} in UTC, or {"error"}.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.stdio {
				return schedule.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), time.Now)
			}
			definition := map[string]any{"timezone": flags.timezone}
			kinds := len(args)
			if len(args) == 1 {
				definition["cron"], definition["day_or"] = args[0], !flags.dayAnd
			}
			if flags.interval != "" {
				kinds++
				definition["interval"] = flags.interval
				if flags.anchor != "" {
					definition["anchor_date"] = flags.anchor
				}
			}
			if flags.rrule != "" {
				kinds++
				definition["rrule"] = flags.rrule
			}
			if kinds != 1 {
				return fmt.Errorf("%w: one of a cron expression, --interval, --rrule or --stdio is needed", errArgument)
			}
			text, err := json.Marshal(definition)
			if err != nil {
				return fmt.Errorf("encode the schedule: %w", err)
			}
			now := time.Now()
			s, err := schedule.ParseDefinition(text, now)
			if err != nil {
				return fmt.Errorf("%w: %w", errArgument, err)
			}
			start := now
			if flags.start != "" {
				if start, err = schedule.ParseTime(flags.start); err != nil {
					return fmt.Errorf("%w: --start: %w", errArgument, err)
				}
			}
			times, err := schedule.First(s, start, time.Time{}, flags.n)
			if err != nil {
				return fmt.Errorf("compute the next times: %w", err)
			}
			for _, t := range times {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), t.In(s.Location()).Format("2006-01-02T15:04:05.999999Z07:00")); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&flags.interval, "interval", "", `an interval: PT6H, "1 day, 02:00:00", 01:30:00`)
	cmd.Flags().StringVar(&flags.anchor, "anchor", "", "the time from which intervals are counted; default now")
	cmd.Flags().StringVar(&flags.rrule, "rrule", "", "a recurrence rule of RFC 5545")
	cmd.Flags().StringVar(&flags.timezone, "timezone", "UTC", "the IANA name of the schedule's zone")
	cmd.Flags().StringVar(&flags.start, "start", "", "the first time looked for; default now")
	cmd.Flags().IntVarP(&flags.n, "number", "n", defaultNext, "how many times")
	cmd.Flags().BoolVar(&flags.dayAnd, "day-and", false, "require both the day of the month and the day of the week to match")
	cmd.Flags().BoolVar(&flags.stdio, "stdio", false, "read and write one JSON object a line")
	return cmd
}
