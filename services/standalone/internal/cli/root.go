// Package cli is the command line of Orch: one file for each command.
package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// New returns the command line of a version.
func New(version string) *cobra.Command {
	root := &cobra.Command{
		Use:           "orch",
		Short:         "An orchestration server with a front door for webhooks",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
	}
	root.AddCommand(
		serverCommand(version),
		infraCommand(),
		templateCommand(),
		backupCommand(),
		restoreCommand(),
		doctorCommand(),
		adminCommand(),
		exportCommand(),
		importCommand(),
		openapiCommand(),
		versionCommand(version),
	)
	return root
}

// errArgument begins the errors that say what is wrong with a command's flags.
var errArgument = errors.New("bad argument")
