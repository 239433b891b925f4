package cli

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// people are the users and service accounts that flags name.
type people struct{ users, serviceAccounts []string }

func peopleFlags(cmd *cobra.Command) *people {
	p := &people{}
	cmd.Flags().StringArrayVar(&p.users, "user", nil, "a user, by e-mail address or id; may be repeated")
	cmd.Flags().StringArrayVar(&p.serviceAccounts, "service-account", nil, "a service account, by name or id; may be repeated")
	cmd.MarkFlagsOneRequired("user", "service-account")
	return p
}

// member is a user or a service account in team requests.
type member struct {
	ID   string `json:"member_id"`
	Type string `json:"member_type"`
}

// find resolves all of them within the account at a path.
func (p *people) find(ctx context.Context, s *remote.Server, in string) ([]member, error) {
	var found []member
	for _, user := range p.users {
		id, err := findUser(ctx, s, in, user)
		if err != nil {
			return nil, err
		}
		found = append(found, member{id, "user"})
	}
	for _, name := range p.serviceAccounts {
		id, err := find(ctx, s, in+"/bots", "service_accounts", name)
		if err != nil {
			return nil, err
		}
		found = append(found, member{id, "service_account"})
	}
	return found, nil
}

func findUser(ctx context.Context, s *remote.Server, in, argument string) (string, error) {
	if id, err := uuid.Parse(argument); err == nil {
		return id.String(), nil
	}
	found, err := remote.Read[[]struct {
		ID string `json:"user_id"`
	}](ctx, s, http.MethodPost, in+"/account_memberships/filter",
		map[string]any{"account_memberships": map[string]any{"email": map[string]any{"any_": []string{argument}}}})
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("no member of the account has the e-mail address %q", argument)
	}
	return found[0].ID, nil
}

// teamMembersCommand builds a command on the members of a team. work receives the team's path and the members.
func teamMembersCommand(c *connection, use, short string, work func(cmd *cobra.Command, s *remote.Server, path string, members []member) error) *cobra.Command {
	cmd := &cobra.Command{Use: use + " TEAM", Short: short, Args: cobra.ExactArgs(1)}
	who := peopleFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, in, path, err := c.teamOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		members, err := who.find(cmd.Context(), s, in)
		if err != nil {
			return err
		}
		return work(cmd, s, path, members)
	}
	return cmd
}

func teamAddCommand(c *connection) *cobra.Command {
	return teamMembersCommand(c, "add", "Add users and service accounts to a team",
		func(cmd *cobra.Command, s *remote.Server, path string, members []member) error {
			answer, err := s.Call(cmd.Context(), http.MethodPut, path+"/members", map[string]any{"members": members})
			if err != nil {
				return err
			}
			return show(c, cmd, answer, teamHead, teamRow)
		})
}

func teamRemoveCommand(c *connection) *cobra.Command {
	return teamMembersCommand(c, "remove", "Take users and service accounts out of a team",
		func(cmd *cobra.Command, s *remote.Server, path string, members []member) error {
			current, err := remote.Read[team](cmd.Context(), s, http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			for _, m := range members {
				at := slices.IndexFunc(current.Members, func(in teamMember) bool { return in.MemberID == m.ID })
				if at < 0 {
					return fmt.Errorf("%s is not a member of the team", m.ID)
				}
				if _, err := s.Call(cmd.Context(), http.MethodDelete, path+"/members/"+current.Members[at].ActorID, nil); err != nil {
					return err
				}
				c.say(cmd, "Removed %s from team %s.", m.ID, cmd.Flags().Arg(0))
			}
			return nil
		})
}
