package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/orch-project/orch/pkg/suggest"
)

// Exit codes of the program.
const (
	exitFailure = 1 // The command ran and did not succeed.
	exitUsage   = 2 // The command line is not valid; nothing ran.
)

// usageErrors marks the flag and argument errors of a command and its subcommands.
func usageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w%s; see %s --help", errArgument, err, suggestFlag(c, err), c.CommandPath())
	})
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := errors.Join(check(c, args), c.ValidateRequiredFlags(), c.ValidateFlagGroups()); err != nil {
				return fmt.Errorf("%w: %w; see %s --help", errArgument, err, c.CommandPath())
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		// A group without a subcommand prints its help; an unknown subcommand is an error.
		cmd.Args = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%w: unknown command %q%s; see %s --help", errArgument, args[0], suggestion(args[0], commandNames(c)), c.CommandPath())
			}
			return nil
		}
		cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	for _, below := range cmd.Commands() {
		usageErrors(below)
	}
}

// commandNames returns the names and aliases of the commands of a group.
func commandNames(c *cobra.Command) []string {
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			names = append(append(names, below.Name()), below.Aliases...)
		}
	}
	return names
}

// suggestFlag is suggestion for the flag that an error of the parser names.
func suggestFlag(c *cobra.Command, err error) string {
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return suggestion("--"+name, names)
}

// maxTypos is the maximum edit distance of a suggestion.
const maxTypos = 3

// suggestion asks whether a similar name was meant; empty if there is none.
func suggestion(name string, names []string) string {
	near := suggest.Nearest(strings.ToLower(name), names, min(len(strings.TrimPrefix(name, "--"))/2, maxTypos))
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", near)
}
