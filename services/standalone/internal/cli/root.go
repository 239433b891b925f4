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
	addGroup(root, "work", "Work:", flowCommand(version), deploymentCommand(version), scheduleCommand(version), backfillCommand(version), flowRunCommand(version),
		taskRunCommand(version), workPoolCommand(version), workQueueCommand(version), workerCommand(version), limitCommand(version))
	addGroup(root, "signals", "Webhooks, events and automations:", webhookCommand(version), listenCommand(version), destinationCommand(version), eventCommand(version), eventTypeCommand(version), automationCommand(version),
		templateCommand())
	addGroup(root, "data", "Data:", artifactCommand(version), variableCommand(version), blockCommand(version))
	addGroup(root, "access", "Access:", loginCommand(version), logoutCommand(), whoamiCommand(version), profileCommand(), workspaceCommand(version),
		userCommand(version), roleCommand(version), teamCommand(version), serviceAccountCommand(version), apiKeyCommand(version), quotaCommand(version))
	addGroup(root, "server", "The server:", serverCommand(version), statusCommand(version), infraCommand(), maintenanceCommand(version), deadLettersCommand(version), retentionCommand(version),
		backupCommand(), restoreCommand(), doctorCommand(), upgradeCommand(version), vocabularyCommand(), adminCommand(), exportCommand(), importCommand())
	addGroup(root, "more", "More:", openapiCommand(), manCommand(version), versionCommand(version))
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	usageErrors(root)
	return root
}

// addGroup adds commands below a title of the help.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, one := range commands {
		one.GroupID = id
		root.AddCommand(one)
	}
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
