package cli

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// namedArguments maps the first argument in the usage of a command to the collection whose names it accepts.
var namedArguments = map[string]string{
	"WEBHOOK": "/webhooks", "FLOW-RUN": "/flow_runs", "DEPLOYMENT": "/deployments", "AUTOMATION": "/automations",
}

// completeNames lets the shell complete the first argument of a command by the names on the server.
func (c *connection) completeNames(cmd *cobra.Command) {
	usage := strings.Fields(cmd.Use)
	if len(usage) < 2 || namedArguments[usage[1]] == "" {
		return
	}
	collection := namedArguments[usage[1]]
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := c.server()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		found, err := remote.Read[[]struct {
			Name string `json:"name"`
		}](cmd.Context(), s, http.MethodPost, s.InWorkspace(collection+"/filter"), map[string]any{"limit": everyone})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, one := range found {
			if strings.HasPrefix(one.Name, begin) {
				names = append(names, one.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
