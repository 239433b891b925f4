// Package cli implements the command line of Orch: one file per command.
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
		eventCommand(version),
		flowRunCommand(version),
		deploymentCommand(version),
		automationCommand(version),
		deadLettersCommand(version),
		retentionCommand(version),
		loginCommand(version),
		logoutCommand(),
		profileCommand(),
		workspaceCommand(version),
		serviceAccountCommand(version),
		teamCommand(version),
		quotaCommand(version),
		apiKeyCommand(version),
		infraCommand(),
		templateCommand(),
		scheduleCommand(),
		backupCommand(),
		restoreCommand(),
		doctorCommand(),
		upgradeCommand(),
		vocabularyCommand(),
		adminCommand(),
		exportCommand(),
		importCommand(),
		openapiCommand(),
		manCommand(version),
		versionCommand(version),
	)
	usageErrors(root)
	return root
}

// errArgument is the prefix of errors in a command's flags and arguments.
var errArgument = errors.New("bad argument")

// ExitCode returns the exit code for an error: 0 for nil, 2 for an invalid command line, else 1.
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
