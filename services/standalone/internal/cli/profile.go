package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/profile"
)

func profileCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "profile", Short: "Manage the stored profiles of servers"}
	cmd.AddCommand(profileListCommand(), profileUseCommand(), profileDeleteCommand())
	return cmd
}

func profileListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the profiles; a star marks the active one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, profiles, err := profile.Open()
			if err != nil {
				return err
			}
			names := slices.Sorted(maps.Keys(profiles.Profiles))
			return table(cmd.OutOrStdout(), []string{"", "PROFILE", "API", "WORKSPACE", "KEY"}, names, func(name string) []string {
				p := profiles.Profiles[name]
				star, key := "", "no"
				if name == profiles.Active {
					star = "*"
				}
				if p.Key != "" {
					key = "yes"
				}
				return []string{star, name, p.APIURL, p.Workspace, key}
			}, true)
		},
	}
}

func profileUseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "use PROFILE",
		Short: "Activate a profile",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return editProfile(args, func(profiles *profile.Collection, name string) error {
				_, err := profiles.Get(name)
				profiles.Active = name
				return err
			})
		},
		ValidArgsFunction: completeProfiles,
	}
}

func profileDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete PROFILE",
		Short: "Delete a profile",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return editProfile(args, func(profiles *profile.Collection, name string) error {
				if _, err := profiles.Get(name); err != nil {
					return err
				}
				delete(profiles.Profiles, name)
				if profiles.Active == name {
					profiles.Active = ""
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Profile %q is forgotten.\n", name)
				return nil
			})
		},
		ValidArgsFunction: completeProfiles,
	}
}
