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
			err := check(c, args)
			if err != nil {
				err = argumentError(c, args, err)
			}
			if err = errors.Join(err, c.ValidateRequiredFlags(), c.ValidateFlagGroups()); err != nil {
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

// argumentError names the argument that is missing or too many, by the usage line of a command; err if the line decides neither.
func argumentError(c *cobra.Command, args []string, err error) error {
	var required, optional []string
	afterFlag := false
	for _, word := range strings.Fields(c.Use)[1:] {
		switch {
		case strings.HasPrefix(word, "-"):
			afterFlag = true
			continue
		case afterFlag: // The flag's value.
		case strings.HasPrefix(word, "["):
			optional = append(optional, word)
		default:
			required = append(required, strings.TrimSuffix(word, "..."))
		}
		afterFlag = false
	}
	switch accepted := len(required) + len(optional); {
	case len(args) < len(required):
		return fmt.Errorf("the %s is missing: %s %s", required[len(args)], c.CommandPath(), strings.Join(strings.Fields(c.Use)[1:], " "))
	case len(args) > accepted:
		return fmt.Errorf("unexpected argument %q", args[accepted])
	default:
		return err
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
