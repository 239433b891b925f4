package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/quickstart"
	"github.com/orch-project/orch/services/standalone/internal/profile"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// defaultAPI is the default address of `orch server`.
const defaultAPI = "http://127.0.0.1:4200/api"

// requestTimeout bounds one request of a command.
const requestTimeout = 60 * time.Second

// connection is how a command reaches its server. Later sources override earlier ones: the active profile, the
// environment (ORCH_API_URL, ORCH_API_KEY), flags.
type connection struct {
	version, profile, apiURL, output string

	noHeaders, quiet bool

	// calls receives the calls of a command as curl commands; nil for none.
	calls io.Writer
}

// errOutput lists the output formats.
var errOutput = fmt.Errorf("%w: --output must be one of %s", errArgument, strings.Join(outputFormats, ", "))

// remoteCommand builds a group of commands that call a server.
func remoteCommand(version string, group *cobra.Command, commands ...func(*connection) *cobra.Command) *cobra.Command {
	c := connect(version, group)
	for _, command := range commands {
		below := command(c)
		c.completeNames(below)
		if below.Name() == "ls" {
			watchable(below)
		}
		group.AddCommand(below)
	}
	return group
}

// connect adds the flags of commands that call a server to a command, and returns the connection that they describe.
func connect(version string, cmd *cobra.Command) *connection {
	c := &connection{version: version}
	flags := cmd.PersistentFlags()
	flags.StringVar(&c.profile, "profile", "", "the profile to use instead of the active one (orch login makes them)")
	flags.StringVar(&c.apiURL, "api-url", "", "the address of the API instead of the profile's")
	flags.StringVarP(&c.output, "output", "o", outputTable, "table, wide for more columns, name for names only, or json or yaml for complete records")
	flags.BoolVar(&c.noHeaders, "no-headers", false, "print tables without their heads")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "print ids only")
	curl := flags.Bool("curl", false, "print each call of the API as a curl command on standard error; the key is $"+quickstart.Variable+", a body is complete")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if *curl {
			c.calls = cmd.ErrOrStderr()
		}
		if !slices.Contains(outputFormats, c.output) {
			return errOutput
		}
		if c.output == "yaml" {
			c.output = outputJSON
			cmd.SetOut(yamlOutput{cmd.OutOrStdout()})
		}
		return nil
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputFormats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("profile", completeProfiles)
	return c
}

// settings returns the effective profile: the stored one with the environment and the flags applied.
func (c *connection) settings() (profile.Profile, error) {
	_, profiles, err := profile.Open()
	if err != nil {
		return profile.Profile{}, err
	}
	name := c.profile
	if name == "" {
		name = os.Getenv("ORCH_PROFILE")
	}
	if name == "" {
		name = profiles.Active
	}
	var p profile.Profile
	if name != "" {
		if p, err = profiles.Get(name); err != nil {
			return p, fmt.Errorf("%w; `orch profile ls` lists them", err)
		}
	}
	for _, address := range []string{os.Getenv("ORCH_API_URL"), c.apiURL} {
		if address == "" {
			continue
		}
		if strings.TrimRight(address, "/") != p.APIURL {
			// A key belongs to one server and is never sent to another.
			p = profile.Profile{}
		}
		p.APIURL = strings.TrimRight(address, "/")
	}
	if key := os.Getenv("ORCH_API_KEY"); key != "" {
		p.Key = key
	}
	if p.APIURL == "" {
		p.APIURL = defaultAPI
	}
	return p, checkAddress(p.APIURL)
}

func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w: %q is not the address of an API, such as %s", errArgument, address, defaultAPI)
	}
	return nil
}

// server returns the server that commands call.
func (c *connection) server() (*remote.Server, error) {
	p, err := c.settings()
	if err != nil {
		return nil, err
	}
	return c.serverOf(p), nil
}

func (c *connection) serverOf(p profile.Profile) *remote.Server {
	return &remote.Server{
		API: strings.TrimRight(p.APIURL, "/"), Key: p.Key, Account: p.AccountID, Workspace: p.WorkspaceID,
		Client: &http.Client{Timeout: requestTimeout}, Agent: "orch/" + c.version, Calls: c.calls,
	}
}

// account returns the account id of the profile's workspace, or of the only account of the caller.
func account(ctx context.Context, s *remote.Server) (string, error) {
	if s.Account != "" {
		return s.Account, nil
	}
	mine, err := workspaces(ctx, s)
	if err != nil {
		return "", err
	}
	var found string
	for _, w := range mine {
		if found != "" && found != w.AccountID {
			return "", errors.New("you belong to several accounts; choose one with `orch workspace use`")
		}
		found = w.AccountID
	}
	if found == "" {
		return "", errors.New("you have no access to any workspace")
	}
	return found, nil
}

// find returns the record that an argument identifies: by id, or by a name that is unique among the results of a filter
// request. kind is the key of the filter in the request, path the collection's path.
func find(ctx context.Context, s *remote.Server, path, kind, argument string) (string, error) {
	if id, err := uuid.Parse(argument); err == nil {
		return id.String(), nil
	}
	found, err := recordsNamed(ctx, s, path, kind, argument)
	if err != nil {
		return "", err
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%d records have the name %q; use the id", len(found), argument)
	}
	return found[0].ID, nil
}

// record is a record that has a name.
type record struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// recordsNamed returns the records of a name, and fails if there is none. The arguments are those of find.
func recordsNamed(ctx context.Context, s *remote.Server, path, kind, name string) ([]record, error) {
	found, err := remote.Read[[]record](ctx, s, http.MethodPost, path+"/filter",
		map[string]any{kind: map[string]any{"name": map[string]any{"any_": []string{name}}}})
	if err != nil || len(found) > 0 {
		return found, err
	}
	some, err := remote.Read[[]record](ctx, s, http.MethodPost, path+"/filter", map[string]any{"limit": everyone})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(some))
	for i, one := range some {
		names[i] = one.Name
	}
	return nil, fmt.Errorf("no %s is named %q%s", strings.ReplaceAll(strings.TrimSuffix(kind, "s"), "_", " "), name, suggestion(name, names))
}

// namesByID returns the names of records by their ids.
func namesByID(ctx context.Context, s *remote.Server, path, kind string, ids []string) (map[string]string, error) {
	slices.Sort(ids)
	names := map[string]string{}
	for chunk := range slices.Chunk(slices.Compact(ids), everyone) {
		found, err := remote.Read[[]record](ctx, s, http.MethodPost, path+"/filter",
			map[string]any{kind: map[string]any{"id": map[string]any{"any_": chunk}}, "limit": everyone})
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			names[one.ID] = one.Name
		}
	}
	return names, nil
}

// everyone is the page size when a command lists all records.
const everyone = 200

// list reads all records of a collection.
func list(ctx context.Context, s *remote.Server, path string) ([]json.RawMessage, error) {
	return listAll(ctx, s, path, map[string]any{})
}

// listAll reads all pages of a filter request.
func listAll(ctx context.Context, s *remote.Server, path string, query map[string]any) ([]json.RawMessage, error) {
	return s.All(ctx, path, query, everyone)
}

// remove asks for confirmation, deletes the record at a path, and reports it.
func (c *connection) remove(cmd *cobra.Command, s *remote.Server, path string, yes bool, question, done string) error {
	if err := confirm(cmd, yes, question); err != nil {
		return err
	}
	if _, err := s.Call(cmd.Context(), http.MethodDelete, path, nil); err != nil {
		return err
	}
	c.say(cmd, "%s", done)
	return nil
}

func completeProfiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	_, profiles, err := profile.Open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(profiles.Profiles)), cobra.ShellCompDirectiveNoFileComp
}
