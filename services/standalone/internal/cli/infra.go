package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/standalone"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

func infraCommand() *cobra.Command {
	var cfg standalone.InfraConfig
	cmd := &cobra.Command{
		Use:   "infra",
		Short: "Run only the embedded broker and store, for separate service processes",
		Long: `Run only the embedded broker and the embedded store, on TCP.

The three services find both on the default addresses. Orchestration and hooks need the key that encrypts secrets, which the
first start of orch infra creates. Start the services after it, in any order:

  orch infra
  export ORCH_SECRETS_KEY_FILE=~/.local/share/orch/secrets.key
  bin/orchestration
  bin/hooks
  bin/gateway

orch backup copies the data directory while the services run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logging, err := config.Load[telemetry.Logging]()
			if err != nil {
				return err
			}
			if cfg.DataDir == "" {
				if cfg.DataDir, err = datadir.Default(); err != nil {
					return err
				}
			}
			if cfg.DataDir, err = filepath.Abs(cfg.DataDir); err != nil { // The services run in other directories.
				return fmt.Errorf("find the data directory: %w", err)
			}
			i, err := standalone.NewInfra(cfg, telemetry.NewLogger(cmd.ErrOrStderr(), "infra", logging))
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "data    %s\nstore   ORCH_MONGODB_URI='%s'\nbroker  ORCH_NATS_URL=%s\nsecrets ORCH_SECRETS_KEY_FILE='%s'\n",
				cfg.DataDir, i.MongoURI(), i.NATSURL(), i.SecretsFile())
			return i.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&cfg.DataDir, "data-dir", "", "the data directory (default: below the user's home)")
	cmd.Flags().StringVar(&cfg.MongoListen, "mongo-listen", config.Loopback(config.PortStore), "the store's address")
	cmd.Flags().StringVar(&cfg.NATSListen, "nats-listen", config.Loopback(config.PortNATS), "the broker's address")
	return cmd
}
