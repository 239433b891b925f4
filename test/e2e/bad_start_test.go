//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/testkit"
)

// TestBadStarts starts services that no retry can help. Each ends with status 1 and one line that names the remedy.
func TestBadStarts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	authority, other := testkit.NewAuthority(t, now), testkit.NewAuthority(t, now)
	valid := authority.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour))
	expired := authority.Issue(t.TempDir(), now.Add(-2*time.Hour), now.Add(-time.Hour))
	foreign := other.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour))
	tls := func(cert, key, ca string) []string {
		return []string{"ORCH_TLS_CERT=" + cert, "ORCH_TLS_KEY=" + key, "ORCH_TLS_CA=" + ca}
	}
	accounts := `accounts {
  SYS { exports: [ { service: "$SYS.REQ.SERVER.PING.JSZ", response_type: stream } ] }
  ORCH {
    %s
    users: [ { user: orch, password: secret } ]
    imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ" } } ]
  }
}
system_account: SYS
`
	broker := func(config string) []string {
		return []string{"ORCH_NATS_URL=" + strings.Replace(startNATSNode(t, config), "://", "://orch:secret@", 1)}
	}
	away := []string{"ORCH_NATS_URL=nats://" + FreeAddress(t)}
	infra := StartInfra(t, programs, t.TempDir())
	store := []string{"ORCH_MONGODB_URI=" + infra.MongoURI(), "ORCH_SECRETS_KEY_FILE=" + filepath.Join(infra.dataDir, "secrets.key")}
	raiseFormat(t, infra.MongoURI(), "newer")

	for name, bad := range map[string]struct {
		program, remedy string
		env             []string
	}{
		"expired certificate, and the broker is away": {"gateway", "renew it", append(tls(expired.Cert, expired.Key, valid.CA), away...)},
		"certificate of another authority":            {"hooks", "sign it with ORCH_TLS_CA", append(tls(valid.Cert, valid.Key, foreign.CA), away...)},
		"NATS without JetStream":                      {"hooks", "jetstream", broker(fmt.Sprintf(accounts, ""))},
		"NATS that acknowledges before fsync": {
			"hooks", "sync_interval: always",
			broker("jetstream { store_dir: STORE, sync_interval: 2m }\n" + fmt.Sprintf(accounts, "jetstream: enabled")),
		},
		"plaintext on an address that others reach": {
			"orchestration", "ORCH_ALLOW_PLAINTEXT", append([]string{"ORCH_ORCHESTRATION_LISTEN=0.0.0.0:0"}, store...),
		},
		"newer database": {
			"orchestration", "install the newer version again, or restore a backup",
			append([]string{"ORCH_NATS_URL=" + infra.NATSURL(), "ORCH_MONGODB_DATABASE=newer"}, store...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
			defer cancel()
			cmd := exec.CommandContext(ctx, programs.Path(bad.program))
			cmd.Env = append(os.Environ(), append([]string{
				"ORCH_LOG_FORMAT=json", "ORCH_GATEWAY_LISTEN=127.0.0.1:0", "ORCH_GATEWAY_INTERNAL_LISTEN=127.0.0.1:0",
				"ORCH_HOOKS_LISTEN=127.0.0.1:0", "ORCH_HOOKS_INTERNAL_LISTEN=127.0.0.1:0", "ORCH_ORCHESTRATION_LISTEN=127.0.0.1:0",
				"ORCH_ORCHESTRATION_INTERNAL_LISTEN=127.0.0.1:0",
			}, bad.env...)...)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s", out)
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			last := lines[len(lines)-1]
			require.Contains(t, last, bad.program+": ")
			require.Contains(t, last, bad.remedy)
			for _, line := range lines[:len(lines)-1] {
				require.True(t, json.Valid([]byte(line)), "the error is one line: %s", line)
			}
		})
	}
}

// startNATSNode starts a NATS server with a configuration, in which STORE is its directory, and returns its address.
func startNATSNode(t *testing.T, config string) string {
	t.Helper()
	dir, address := t.TempDir(), FreeAddress(t)
	file := filepath.Join(dir, "nats.conf")
	config = "listen: " + address + "\nmax_payload: 8MB\n" + strings.ReplaceAll(config, "STORE", fmt.Sprintf("%q", filepath.Join(dir, "js")))
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	p := Start(t, "natsnode", nil, buildTool(t, dir, "natsnode"), file)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	_, err := p.Line(ctx, "ready")
	require.NoError(t, err)
	return "nats://" + address
}

// raiseFormat writes the format of a later version into a database.
func raiseFormat(t *testing.T, uri, database string) {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	_, err = client.Database(database).Collection("meta").InsertOne(t.Context(),
		bson.D{{Key: "_id", Value: "format"}, {Key: "version", Value: int64(99)}, {Key: "vocabulary", Value: "orch"}})
	require.NoError(t, err)
	require.NoError(t, client.Disconnect(t.Context()))
}
