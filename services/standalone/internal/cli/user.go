package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

var userResource = &resource{
	noun: "user", plural: "users", argument: "EMAIL",
	columns: append([]column{
		fieldColumn("EMAIL", "email"), fieldColumn("HANDLE", "handle"), fieldColumn("ROLE", "account_role_name"), fieldColumn("LAST LOGIN", "last_login"),
	}, wideColumns(fieldColumn("ID", "id"), fieldColumn("USER ID", "user_id"), fieldColumn("FIRST NAME", "first_name"), fieldColumn("LAST NAME", "last_name"))...),
	fields: []field{
		{name: "account_role_id", flag: "role", usage: "the account role, by name or id"},
		{name: "handle", flag: "handle", usage: "the handle", on: createOnly},
		{name: "first_name", flag: "first-name", usage: "the first name", on: createOnly},
		{name: "last_name", flag: "last-name", usage: "the last name", on: createOnly},
	},
	list: listInAccount("/account_memberships/filter"),
	path: func(ctx context.Context, s *remote.Server, argument string) (string, error) {
		in, err := account(ctx, s)
		if err != nil {
			return "", err
		}
		path := "/accounts/" + in + "/account_memberships"
		found, err := remote.Read[[]struct {
			ID    string `json:"id"`
			User  string `json:"user_id"`
			Email string `json:"email"`
		}](ctx, s, http.MethodPost, path+"/filter", map[string]any{})
		if err != nil {
			return "", err
		}
		emails := make([]string, len(found))
		for i, one := range found {
			if one.Email == argument || one.User == argument || one.ID == argument {
				return path + "/" + one.ID, nil
			}
			emails[i] = one.Email
		}
		return "", fmt.Errorf("no member of the account has the e-mail address %q%s", argument, suggestion(argument, emails))
	},
	read:   readFromList(http.MethodPost, "/filter", "id"),
	create: createInAccount("/account_memberships", "email"),
	request: func(ctx context.Context, s *remote.Server, body map[string]any) error {
		return roleID(ctx, s, body, "account_role_id", "account_roles")
	},
	fileFields: []string{"email", "account_role_id", "handle", "first_name", "last_name"},
	fileNote: `

"account_role_id" is the name of the account role. A new user's key is printed once.`,
	names: func(ctx context.Context, s *remote.Server, records []map[string]any) error {
		return roleNames(ctx, s, records, "account_role_id", "account_roles")
	},
	warning: "from the account; the user's keys are refused at once",
	key:     func(record map[string]any) string { return plain(record["email"]) },
}

// roleID replaces the name of a role in a field by its id. kind is the collection of the roles in the account.
func roleID(ctx context.Context, s *remote.Server, body map[string]any, field, kind string) error {
	name, given := body[field].(string)
	if _, err := uuid.Parse(name); !given || err == nil {
		return nil
	}
	in, err := account(ctx, s)
	if err != nil {
		return err
	}
	if body[field], err = find(ctx, s, "/accounts/"+in+"/"+kind, kind, name); err != nil {
		return fmt.Errorf("find the %s: %w", strings.ReplaceAll(strings.TrimSuffix(kind, "s"), "_", " "), err)
	}
	return nil
}

// roleNames replaces the id of a role in a field by its name. kind is the collection of the roles in the account.
func roleNames(ctx context.Context, s *remote.Server, records []map[string]any, field, kind string) error {
	var ids []string
	for _, record := range records {
		if id := plain(record[field]); id != "" {
			ids = append(ids, id)
		}
	}
	in, err := account(ctx, s)
	if err != nil {
		return err
	}
	names, err := namesByID(ctx, s, "/accounts/"+in+"/"+kind, kind, ids)
	if err != nil {
		return err
	}
	for _, record := range records {
		if name := names[plain(record[field])]; name != "" {
			record[field] = name
		}
	}
	return nil
}

func userCommand(version string) *cobra.Command {
	r := userResource
	return remoteCommand(version, &cobra.Command{
		Use: "user", Aliases: []string{"users"}, Short: "Manage the members of the account",
		Long: `Manage the members of the account. Commands accept a member's e-mail address or id. "create" makes a user and prints the key once.`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.applyCommand, r.exportCommand, r.deleteCommand)
}
