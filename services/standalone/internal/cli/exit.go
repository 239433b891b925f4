package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes of the program.
const (
	exitFailure = 1 // The command ran and did not succeed.
	exitUsage   = 2 // The command line is not valid; nothing ran.
)

// usageErrors marks the flag and argument errors of a command and its subcommands.
func usageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w; see %s --help", errArgument, err, c.CommandPath())
	})
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := errors.Join(check(c, args), c.ValidateFlagGroups()); err != nil {
				return fmt.Errorf("%w: %w; see %s --help", errArgument, err, c.CommandPath())
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		// A group without a subcommand prints its help; an unknown subcommand is an error.
		cmd.Args = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%w: unknown command %q; see %s --help", errArgument, args[0], c.CommandPath())
			}
			return nil
		}
		cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	for _, below := range cmd.Commands() {
		usageErrors(below)
	}
}
