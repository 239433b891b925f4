package cli

import (
	"context"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// names reads the names that a shell completes an argument or a flag with.
type names func(ctx context.Context, s *remote.Server) ([]string, error)

// namedArguments maps the first argument in the usage of a command to the names that it accepts, and namedFlags the flags.
var (
	namedArguments = map[string]names{
		"WEBHOOK": inWorkspace("/webhooks"), "FLOW-RUN": inWorkspace("/flow_runs"), "DEPLOYMENT": inWorkspace("/deployments"),
		"AUTOMATION": inWorkspace("/automations"), "SERVICE-ACCOUNT": inAccount("/bots"), "TEAM": inAccount("/teams"),
		"[AUTOMATION]": inWorkspace("/automations"), "WORKSPACE": ofWorkspaces, "[PRESET]": ofPresets,
		"FLOW": inWorkspace("/flows"), "VARIABLE": inWorkspace("/variables"), "WORK-POOL": inWorkspace("/work_pools"),
		"LIMIT": inWorkspace("/v2/concurrency_limits"), "ROLE": inAccount("/workspace_roles"), "WORK-POOL/QUEUE": resourceNames(workQueueResource),
		"WORK-POOL/WORKER": resourceNames(workerResource), "TYPE/NAME": resourceNames(blockResource), "EMAIL": resourceNames(userResource),
	}
	namedFlags = map[string]names{
		"work-pool": inWorkspace("/work_pools"), "flow-run": inWorkspace("/flow_runs"), "inherit": inAccount("/workspace_roles"),
		"service-account": inAccount("/bots"), "flow": inWorkspace("/flows"), "deployment": inWorkspace("/deployments"),
		"preset": ofPresets, "preset-sample": ofPresets,
	}
)

// named is a record with a name.
type named struct {
	Name string `json:"name"`
}

func namesOf(records []named, err error) ([]string, error) {
	all := make([]string, len(records))
	for i, one := range records {
		all[i] = one.Name
	}
	return all, err
}

// resourceNames returns the texts that identify the records of a resource.
func resourceNames(r *resource) names {
	return func(ctx context.Context, s *remote.Server) ([]string, error) {
		answers, err := r.list(ctx, s, map[string]any{}, 0)
		if err != nil {
			return nil, err
		}
		all := make([]string, len(answers))
		for i, text := range answers {
			record, err := decodeRecord(text)
			if err != nil {
				return nil, err
			}
			all[i] = r.name(record)
		}
		return all, nil
	}
}

// inWorkspace returns the names in a collection of the workspace, of a page.
func inWorkspace(collection string) names {
	return func(ctx context.Context, s *remote.Server) ([]string, error) {
		return namesOf(remote.Read[[]named](ctx, s, http.MethodPost, s.InWorkspace(collection+"/filter"), map[string]any{"limit": everyone}))
	}
}

// inAccount returns the names in a collection of the account, of a page.
func inAccount(collection string) names {
	return func(ctx context.Context, s *remote.Server) ([]string, error) {
		in, err := account(ctx, s)
		if err != nil {
			return nil, err
		}
		return namesOf(remote.Read[[]named](ctx, s, http.MethodPost, "/accounts/"+in+collection+"/filter", map[string]any{"limit": everyone}))
	}
}

func ofWorkspaces(ctx context.Context, s *remote.Server) ([]string, error) {
	mine, err := workspaces(ctx, s)
	all := make([]string, len(mine))
	for i, w := range mine {
		all[i] = w.full()
	}
	return all, err
}

func ofPresets(ctx context.Context, s *remote.Server) ([]string, error) {
	return namesOf(remote.Read[[]named](ctx, s, http.MethodGet, s.InWorkspace("/webhooks/presets"), nil))
}

// completeNames lets the shell complete the first argument and the flags of a command by the names on the server.
func (c *connection) completeNames(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if read := namedFlags[f.Name]; read != nil {
			complete := c.completer(read)
			_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
				return complete(cmd, begin)
			})
		}
	})
	usage := strings.Fields(cmd.Use)
	if len(usage) < 2 || namedArguments[usage[1]] == nil {
		return
	}
	complete := c.completer(namedArguments[usage[1]])
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, begin)
	}
}

// completer returns the names that begin with a text.
func (c *connection) completer(read names) func(cmd *cobra.Command, begin string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, begin string) ([]string, cobra.ShellCompDirective) {
		s, err := c.server()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		all, err := read(cmd.Context(), s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var found []string
		for _, name := range all {
			if strings.HasPrefix(name, begin) {
				found = append(found, name)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
