package cli

import "github.com/spf13/cobra"

func automationDeliveriesCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "deliveries AUTOMATION [DELIVERY]",
		Short:   "Show the calls and notifications of an automation, or one of them with its attempts",
		Example: `  orch automation deliveries notify --failed`,
		Args:    cobra.RangeArgs(1, 2),
	}
	filter := destinationFilter{}
	filter.register(cmd)
	limit := cmd.Flags().Int("limit", 20, "the maximum number of deliveries, at most 200")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.automationOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return c.showDestinationDeliveries(cmd, s, path, args[1:], &filter, *limit)
	}
	return cmd
}
