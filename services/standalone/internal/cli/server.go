package cli

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/processors"
	"github.com/orch-project/orch/pkg/quickstart"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone"
)

// flagSettings are the settings that flags override.
var flagSettings = map[string]string{
	"data-dir": "ORCH_DATA_DIR", "listen": "ORCH_GATEWAY_LISTEN", "vocabulary": "ORCH_VOCABULARY", "auth": "ORCH_AUTH",
	"insecure": "ORCH_INSECURE", "trace-file": "ORCH_TRACE_FILE",
}

// authModes are the values of --auth.
var authModes = []string{"none", "basic", "keys"}

func serverCommand(version string) *cobra.Command {
	var flags struct {
		dataDir, listen, vocabulary, auth, traceFile string
		insecure, check                              bool
	}
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run the server with all services, the broker and the store in one process",
		Long: `Run the whole server in this process: API, dashboard, webhooks, broker and store.

Every setting is an environment variable too; --check-config prints all values and their sources. Flags override variables.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := vocabulary.Parse(flags.vocabulary); err != nil {
				return fmt.Errorf("%w: --vocabulary: %w", errArgument, err)
			}
			if flags.auth != "" && !slices.Contains(authModes, flags.auth) {
				return fmt.Errorf("%w: --auth %q: must be one of %s", errArgument, flags.auth, strings.Join(authModes, ", "))
			}
			overrides := map[string]string{}
			for flag, setting := range flagSettings {
				if cmd.Flags().Changed(flag) {
					overrides[setting] = cmd.Flags().Lookup(flag).Value.String()
				}
			}
			variables := config.Environment(overrides)
			cfg, err := config.LoadFrom[standalone.Config](variables)
			if err != nil {
				return err
			}
			if flags.check {
				sources, err := config.SourcesOf[standalone.Config](variables, slices.Collect(maps.Keys(overrides))...)
				if err != nil {
					return err
				}
				return config.Print(cmd.OutOrStdout(), cfg, sources)
			}
			return serve(cmd, cfg, version)
		},
	}
	cmd.Flags().StringVar(&flags.dataDir, "data-dir", "", "the data directory (default: below the user's home)")
	cmd.Flags().StringVar(&flags.listen, "listen", "", "the address of API, dashboard and webhooks (default 127.0.0.1:4200)")
	cmd.Flags().StringVar(&flags.vocabulary, "vocabulary", "", "the server's vocabulary: orch, or prefect for Prefect's clients (default: that of the data; the first client that writes decides on fresh data)")
	cmd.Flags().StringVar(&flags.auth, "auth", "", "the authentication mode: none, basic, or keys (API keys)")
	cmd.Flags().StringVar(&flags.traceFile, "trace-file", "", "a file that gets every span as a line of JSON")
	cmd.Flags().BoolVar(&flags.insecure, "insecure", false, "allow other machines to reach the server without authentication")
	cmd.Flags().BoolVar(&flags.check, "check-config", false, "print the settings and exit")
	return cmd
}

func serve(cmd *cobra.Command, cfg standalone.Config, version string) error {
	log := telemetry.NewLogger(cmd.ErrOrStderr(), "orch", cfg.Logging)
	slog.SetDefault(log)
	telemetry.WarnUnknownSettings(cmd.Context(), log)
	processors.AddThreads()
	server, err := standalone.New(cmd.Context(), cfg, version, log)
	if err != nil {
		return err
	}
	greet(cmd.OutOrStdout(), server, version)
	return server.Run(cmd.Context())
}

// greet prints the addresses and a command to try.
func greet(w io.Writer, s *standalone.Server, version string) {
	root := "http://" + reachable(s.Addr())
	var b strings.Builder
	fmt.Fprintf(&b, "Orch %s\n\n", version)
	fmt.Fprintf(&b, "  dashboard  %s/\n", root)
	fmt.Fprintf(&b, "  API        %s/api\n", root)
	fmt.Fprintf(&b, "  docs       %s/docs\n", root)
	fmt.Fprintf(&b, "  webhooks   %s/hooks/<slug>\n", root)
	if s.InternalURL() != "" {
		fmt.Fprintf(&b, "  metrics    %s/metrics\n", s.InternalURL())
	}
	fmt.Fprintf(&b, "  data       %s\n", s.DataDir())
	fmt.Fprintf(&b, "  vocabulary %s\n", s.Vocabulary())
	first := quickstart.Server{API: root + "/api", Vocabulary: s.Vocabulary(), Credential: s.Credential()}
	if file := s.OwnerKeyFile(); file != "" {
		// Supervisors keep standard output as a log.
		fmt.Fprintf(&b, "  owner key  %s\n", file)
		first.Secret = `$(cat ` + quickstart.Quote(file) + `)`
	}
	b.WriteString("\n")
	if s.OwnerKeyFile() != "" {
		b.WriteString("Every request needs an API key. The owner's first one is in the file above, which only its owner reads; delete it when you have stored the key.\n\n")
	}
	if advice := first.Advice(); advice != "" {
		fmt.Fprintf(&b, "%s\n\n", advice)
	}
	fmt.Fprintf(&b, "Try it:\n\n%s\n\n", tryIt(first))
	_, _ = io.WriteString(w, b.String()) // A closed standard output does not stop the server.
}

// tryIt returns the first command: a flow of Prefect's client or, on a server that refuses that client, a flow by curl.
// Python code must not be indented.
func tryIt(s quickstart.Server) string {
	if s.ServesPrefect() {
		return s.Flow()
	}
	return s.Curl(http.MethodPost, "/flows/", `{"name": "hello"}`)
}

// reachable returns an address for people: loopback for a server that listens on all interfaces.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}
