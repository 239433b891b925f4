package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// errRun means that a watched flow run did not complete.
var errRun = errors.New("the flow run did not complete")

func deploymentRunCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run DEPLOYMENT",
		Short: "Create a flow run of a deployment",
		Example: `  orch deployment run load-orders/nightly --param day='"2026-03-02"' --param full=true
  orch deployment run nightly --in 2h --tag again
  orch deployment run nightly --watch`,
		Args: cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	parameters := flags.StringArrayP("param", "p", nil, "a parameter, as NAME=JSON; a value that is not JSON is a text; several may be given")
	name := flags.String("name", "", "the name of the flow run; the server chooses one without it")
	tags := flags.StringSlice("tag", nil, "a tag of the flow run; several may be given")
	delay := spanFlag(flags, "in", "the time until the flow run starts, such as 2h; the default is now")
	watch := flags.Bool("watch", false, "show the states of the flow run until it ends; exit with 1 unless it completes")
	every := flags.Duration("every", tailInterval, "the polling interval of --watch")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *every <= 0 {
			return fmt.Errorf("%w: --every must be positive", errArgument)
		}
		values, err := readObject("param", *parameters)
		if err != nil {
			return err
		}
		s, path, err := deploymentResource.locate(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		state := map[string]any{"type": "SCHEDULED"}
		if *delay > 0 {
			state["state_details"] = map[string]any{"scheduled_time": time.Now().UTC().Add(*delay)}
		}
		body := map[string]any{"state": state}
		if len(*tags) > 0 {
			body["tags"] = *tags
		}
		if len(values) > 0 {
			if err := knowsParameters(cmd.Context(), s, path, values); err != nil {
				return err
			}
			body["parameters"] = values
		}
		if *name != "" {
			body["name"] = *name
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/create_flow_run", body)
		if err != nil {
			return err
		}
		if !*watch {
			return c.showFlowRun(cmd, s, answer)
		}
		run, err := remote.Decode[flowRunSummary](answer)
		if err != nil {
			return err
		}
		return c.watch(cmd, s, s.InWorkspace("/flow_runs/"+run.ID), *every)
	}
	return cmd
}

// knowsParameters refuses parameters that the deployment's schema does not have.
func knowsParameters(ctx context.Context, s *remote.Server, path string, values map[string]any) error {
	deployment, err := remote.Read[struct {
		Schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Additional any                        `json:"additionalProperties"`
		} `json:"parameter_openapi_schema"`
	}](ctx, s, http.MethodGet, path, nil)
	if err != nil {
		return fmt.Errorf("read the deployment: %w", err)
	}
	schema := deployment.Schema
	if schema.Properties == nil || schema.Additional != nil && schema.Additional != false {
		return nil
	}
	parameters := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := schema.Properties[name]; !ok {
			return fmt.Errorf("%w: the deployment has no parameter %q%s; it has: %s", errArgument, name, suggestion(name, parameters), cmp.Or(strings.Join(parameters, ", "), "none"))
		}
	}
	return nil
}

// watch shows each state of a flow run until it ends.
func (c *connection) watch(cmd *cobra.Command, s *remote.Server, path string, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	shown := runState{}
	for {
		answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		run, err := remote.Decode[flowRunSummary](answer)
		if err != nil {
			return err
		}
		if run.State != nil && *run.State != shown {
			shown = *run.State
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s is %s %s\n", run.Name, shown.Name, printable(shown.Message))
		}
		if run.State.ended() {
			if err := c.showFlowRun(cmd, s, answer); err != nil {
				return err
			}
			if run.State.Type != "COMPLETED" {
				return fmt.Errorf("%w: it is %s", errRun, run.State.Name)
			}
			return nil
		}
		select {
		case <-ticker.C:
		case <-cmd.Context().Done():
			return nil
		}
	}
}
