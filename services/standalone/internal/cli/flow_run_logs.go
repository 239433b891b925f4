package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// logLine is a line of a flow run's log.
type logLine struct {
	ID        string    `json:"id"`
	Timestamp time.Time `json:"timestamp"`
	Level     int       `json:"level"`
	Message   string    `json:"message"`
	TaskRunID string    `json:"task_run_id"`
}

// text is the line for people, with a message that may name its task run.
func (l logLine) text(message string) string {
	return fmt.Sprintf("%s  %-8s  %s", l.Timestamp.Format(millisecondTime), levelName(l.Level), printable(message))
}

// levelError is the least severity of errors.
const levelError = 40

// levelName returns the name of a severity, as Python's logging has them.
func levelName(level int) string {
	switch {
	case level >= 50:
		return "CRITICAL"
	case level >= levelError:
		return "ERROR"
	case level >= 30:
		return "WARNING"
	case level >= 20:
		return "INFO"
	}
	return "DEBUG"
}

func flowRunLogsCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs [FLOW-RUN]",
		Short: "Show the log of a flow run, oldest line first",
		Long:  `Show the log of a flow run, oldest line first. Without a flow run it is that of the run that failed or crashed last.`,
		Args:  cobra.MaximumNArgs(1),
	}
	failed := cmd.Flags().Bool("failed", false, "show the lines of task runs that failed or crashed")
	follow := cmd.Flags().BoolP("follow", "f", false, "show new lines as they arrive, until the run ends")
	every := cmd.Flags().Duration("every", tailInterval, "the polling interval of --follow")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *every <= 0 {
			return fmt.Errorf("%w: --every must be positive", errArgument)
		}
		s, run, err := c.flowRunOf(cmd.Context(), args)
		if err != nil {
			return err
		}
		var taskRuns []string
		if *failed {
			if taskRuns, err = failedTaskRuns(cmd.Context(), s, path.Base(run)); err != nil {
				return err
			}
		}
		tasks := map[string]string{} // Names of task runs by id.
		lines := stream{
			fetch: func(since time.Time) ([]json.RawMessage, error) {
				filter := map[string]any{"flow_run_id": map[string]any{"any_": []string{path.Base(run)}}}
				if *failed {
					filter["task_run_id"] = map[string]any{"any_": taskRuns}
				}
				if !since.IsZero() {
					filter["timestamp"] = map[string]any{"after_": since}
				}
				return listAll(cmd.Context(), s, s.InWorkspace("/logs/filter"), map[string]any{"logs": filter, "sort": "TIMESTAMP_ASC"})
			},
			read: func(text json.RawMessage) (string, time.Time, string, error) {
				line, err := remote.Decode[logLine](text)
				if err != nil {
					return "", time.Time{}, "", err
				}
				message := line.Message
				if line.TaskRunID != "" {
					addTaskNames(cmd.Context(), s, path.Base(run), tasks, line.TaskRunID)
					message = tasks[line.TaskRunID] + ": " + message
				}
				shown := line.text(message)
				if line.Level >= levelError {
					shown = colored(cmd.OutOrStdout(), red, shown)
				}
				return line.ID, line.Timestamp, shown, err
			},
			done: func() (bool, error) {
				if !*follow {
					return true, nil
				}
				current, err := remote.Read[flowRunSummary](cmd.Context(), s, http.MethodGet, run, nil)
				return current.State.ended(), err
			},
		}
		return c.follow(cmd, time.Time{}, *every, lines)
	}
	return cmd
}

// flowRunOf returns the path of the flow run that an argument identifies. Without an argument it is the flow
// run that failed or crashed last.
func (c *connection) flowRunOf(ctx context.Context, args []string) (*remote.Server, string, error) {
	if len(args) == 1 {
		return flowRunResource.locate(ctx, c, args[0])
	}
	s, err := c.server()
	if err != nil {
		return nil, "", err
	}
	found, err := remote.Read[[]record](ctx, s, http.MethodPost, s.InWorkspace("/flow_runs/filter"), map[string]any{
		"flow_runs": failedState(), "sort": "END_TIME_DESC", "limit": 1,
	})
	if err != nil {
		return nil, "", fmt.Errorf("find the flow run that failed last: %w", err)
	}
	if len(found) == 0 {
		return nil, "", errNoneFailed
	}
	return s, s.InWorkspace("/flow_runs/" + found[0].ID), nil
}

// errNoneFailed means that the command names no flow run and none failed.
var errNoneFailed = errors.New("no flow run has failed; name one")

// failedState is the filter of runs that failed or crashed.
func failedState() map[string]any {
	return map[string]any{"state": map[string]any{"type": map[string]any{"any_": []string{"FAILED", "CRASHED"}}}}
}

// failedTaskRuns returns the ids of the task runs of a flow run that failed or crashed, the first 200 by the time of their end.
func failedTaskRuns(ctx context.Context, s *remote.Server, run string) ([]string, error) {
	found, err := remote.Read[[]record](ctx, s, http.MethodPost, s.InWorkspace("/task_runs/filter"), map[string]any{
		"flow_runs": map[string]any{"id": map[string]any{"any_": []string{run}}}, "task_runs": failedState(), "sort": "END_TIME_DESC", "limit": everyone,
	})
	if err != nil {
		return nil, fmt.Errorf("find the task runs that failed: %w", err)
	}
	ids := []string{}
	for _, one := range found {
		ids = append(ids, one.ID)
	}
	return ids, nil
}

// addTaskNames adds the names of the task runs of a flow run, unless the wanted one is known. A task run without a name here, such as
// one that is stored after its first line, has its id.
func addTaskNames(ctx context.Context, s *remote.Server, run string, names map[string]string, wanted string) {
	if _, ok := names[wanted]; ok {
		return
	}
	names[wanted] = wanted
	all, _ := listAll(ctx, s, s.InWorkspace("/task_runs/filter"), map[string]any{
		"flow_runs": map[string]any{"id": map[string]any{"any_": []string{run}}}, "sort": "ID_DESC",
	})
	for _, text := range all {
		if one, err := remote.Decode[record](text); err == nil {
			names[one.ID] = one.Name
		}
	}
}
