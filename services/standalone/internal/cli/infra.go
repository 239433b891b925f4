package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/processors"
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

Both demand a password, because other users of the machine reach the ports. The first start creates the passwords, and the key that
encrypts secrets, in files that only their owner reads. Start the services after it, in any order:

  orch infra
  export ORCH_NATS_URL_FILE=~/.local/share/orch/broker.url
  export ORCH_MONGODB_URI_FILE=~/.local/share/orch/store.uri
  export ORCH_SECRETS_KEY_FILE=~/.local/share/orch/secrets.key
  bin/orchestration
  bin/hooks
  bin/gateway

The connections are not encrypted, so an address that other machines reach is refused unless --insecure. With it, clients do not need the
passwords either.

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
			processors.AddThreads()
			i, err := standalone.NewInfra(cfg, telemetry.NewLogger(cmd.ErrOrStderr(), "infra", logging))
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "data    %s\nstore   ORCH_MONGODB_URI_FILE='%s'\nbroker  ORCH_NATS_URL_FILE='%s'\nsecrets ORCH_SECRETS_KEY_FILE='%s'\n",
				cfg.DataDir, i.MongoURIFile(), i.NATSURLFile(), i.SecretsFile())
			return i.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&cfg.DataDir, "data-dir", "", "the data directory (default: below the user's home)")
	cmd.Flags().StringVar(&cfg.MongoListen, "mongo-listen", config.Loopback(config.PortStore), "the store's address")
	cmd.Flags().Int64Var(&cfg.StoreCache, "store-cache", 0, "the memory in bytes for decompressed blocks of the store; 0 means its default")
	cmd.Flags().BoolVar(&cfg.Insecure, "insecure", false, "allow other machines to reach both, and clients without a password")
	cmd.Flags().StringVar(&cfg.NATSListen, "nats-listen", config.Loopback(config.PortNATS), "the broker's address")
	return cmd
}
