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
		webhookCommand(version),
		automationCommand(version),
		loginCommand(version),
		logoutCommand(),
		profileCommand(),
		workspaceCommand(version),
		serviceAccountCommand(version),
		teamCommand(version),
		apiKeyCommand(version),
		infraCommand(),
		templateCommand(),
		scheduleCommand(),
		backupCommand(),
		restoreCommand(),
		doctorCommand(),
		adminCommand(),
		exportCommand(),
		importCommand(),
		openapiCommand(),
		versionCommand(version),
	)
	usageErrors(root)
	return root
}

// errArgument begins the errors that say what is wrong with a command's flags and arguments.
var errArgument = errors.New("bad argument")

// ExitCode is the code that the program ends with: 0 for no error, 2 for a command line that is not understood, else 1.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errArgument):
		return exitUsage
	default:
		return exitFailure
	}
}
