package cli

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone"
)

func serverCommand(version string) *cobra.Command {
	var flags struct {
		dataDir, listen, vocabulary, auth string
		insecure, check                   bool
	}
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run the server with all services, the broker and the store in one process",
		Long: `Run the whole server in this process: API, dashboard, webhooks, broker and store.

Every setting is an environment variable too; --check-config prints them all.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load[standalone.Config]()
			if err != nil {
				return err
			}
			if flags.dataDir != "" {
				cfg.DataDir = flags.dataDir
			}
			if flags.listen != "" {
				cfg.Gateway.Listen = flags.listen
			}
			if flags.auth != "" {
				cfg.Gateway.Auth = flags.auth
			}
			if flags.insecure {
				cfg.Gateway.Insecure = true
			}
			vocab := cfg.Gateway.Vocabulary
			if flags.vocabulary != "" {
				if vocab, err = vocabulary.Parse(flags.vocabulary); err != nil {
					return fmt.Errorf("%w: --vocabulary: %w", errArgument, err)
				}
			}
			cfg.Gateway.Vocabulary, cfg.Hooks.Vocabulary, cfg.Orchestration.Vocabulary = vocab, vocab, vocab
			if flags.check {
				if err := cfg.Validate(); err != nil {
					return err
				}
				return config.Print(cmd.OutOrStdout(), cfg)
			}
			return serve(cmd, cfg, version)
		},
	}
	cmd.Flags().StringVar(&flags.dataDir, "data-dir", "", "the data directory (default: below the user's home)")
	cmd.Flags().StringVar(&flags.listen, "listen", "", "the address of API, dashboard and webhooks (default 127.0.0.1:4200)")
	cmd.Flags().StringVar(&flags.vocabulary, "vocabulary", "", "the server's vocabulary: orch, or prefect for existing clients")
	cmd.Flags().StringVar(&flags.auth, "auth", "", "the authentication mode: none, basic, or keys (API keys)")
	cmd.Flags().BoolVar(&flags.insecure, "insecure", false, "allow other machines to reach the server without authentication")
	cmd.Flags().BoolVar(&flags.check, "check-config", false, "print the settings and exit")
	return cmd
}

func serve(cmd *cobra.Command, cfg standalone.Config, version string) error {
	log := telemetry.NewLogger(cmd.ErrOrStderr(), "orch", cfg.Logging)
	slog.SetDefault(log)
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
	fmt.Fprintf(&b, "  data       %s\n\n", s.DataDir())
	credential := ""
	if key := s.OwnerKey(); key != "" {
		fmt.Fprintf(&b, "  The owner's API key, shown this once; every request needs one:\n\n  %s\n\n", key)
		credential = " -H 'Authorization: Bearer " + key + "'"
	}
	fmt.Fprintf(&b, "Try it:\n\n")
	fmt.Fprintf(&b, "  curl -s %s/api/flows/%s -H 'Content-Type: application/json' -d '{\"name\": \"hello\"}'\n\n", root, credential)
	_, _ = io.WriteString(w, b.String()) // A closed standard output does not stop the server.
}

// reachable returns an address for people: loopback for a server that listens on all interfaces.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}
