package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// project is docker-compose.yml as Compose parses it, with variables of the user.
func project(t *testing.T, variables ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions(
		[]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithWorkingDirectory(root),
		cli.WithEnv(append(composeSecrets(t), variables...)),
	)
	require.NoError(t, err)
	p, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	return p
}

// composeSecrets are what make up writes into .env.
func composeSecrets(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), ".env")
	for range 2 { // The second time nothing is missing.
		text, err := exec.CommandContext(t.Context(), filepath.Join(root, "tools", "compose-secrets"), file).CombinedOutput()
		require.NoError(t, err, string(text))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.Fields(string(text))
	require.Len(t, lines, 7)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "only the owner reads the secrets")
	return lines
}

// Without the secrets nothing starts: there is no default password.
func TestComposeNeedsItsSecrets(t *testing.T) {
	t.Parallel()
	all := composeSecrets(t)
	for i, missing := range all {
		options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")},
			cli.WithWorkingDirectory(root), cli.WithEnv(slices.Delete(slices.Clone(all), i, i+1)))
		require.NoError(t, err)
		_, err = options.LoadProject(t.Context())
		name, _, _ := strings.Cut(missing, "=")
		require.ErrorContains(t, err, name)
	}
}

// environment is the environment of a service's container.
func environment(s types.ServiceConfig) map[string]string {
	variables := map[string]string{}
	for name, value := range s.Environment {
		if value != nil {
			variables[name] = *value
		}
	}
	return variables
}

func TestComposeSettingsAreAccepted(t *testing.T) {
	t.Parallel()
	for name, variables := range map[string][]string{
		"as it is": nil,
		"open to others": {
			"ORCH_AUTH_BASIC=admin:a-long-random-secret", "ORCH_BIND=0.0.0.0", "ORCH_PORT=80", "ORCH_VOCABULARY=prefect",
			"ORCH_NATS_PASSWORD_HOOKS=other", "ORCH_PUBLIC_URL=https://orch.example.com", "ORCH_LOG_LEVEL=debug",
			"ORCH_TRUSTED_PROXIES=10.0.0.7", "ORCH_HOOKS_TRUSTED_PROXIES=172.18.0.0/16,172.19.0.0/16",
			"ORCH_ALLOWED_HOSTS=orch.lan", "ORCH_CORS_ORIGINS=https://ui.example.com",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := project(t, variables...)
			for service, settings := range services {
				variables := environment(p.Services[service])
				requireRoom(t, variables[goMemLimit], int64(p.Services[service].MemLimit))
				delete(variables, goMemLimit)
				settings.accepts(t, variables)
			}
			for service := range services {
				password := *p.Services["nats"].Environment["ORCH_NATS_PASSWORD_"+strings.ToUpper(service)]
				require.Equal(t, "nats://"+service+":"+password+"@nats:4222", *p.Services[service].Environment["ORCH_NATS_URL"])
			}
			require.Contains(t, *p.Services["orchestration"].Environment["ORCH_MONGODB_URI"], *p.Services["mongo"].Environment["MONGO_INITDB_ROOT_PASSWORD"])
		})
	}
}

// A container listens on all of its addresses, so its published address decides whether other machines reach it.
func TestComposeRefusesToOpenWithoutAuthentication(t *testing.T) {
	t.Parallel()
	gateway := func(variables ...string) error {
		env := environment(project(t, variables...).Services["gateway"])
		delete(env, goMemLimit)
		return services["gateway"].load(env)
	}
	for _, bind := range []string{"0.0.0.0", "192.168.0.7", "[::]"} {
		require.ErrorContains(t, gateway("ORCH_BIND="+bind), "without authentication", bind)
		require.NoError(t, gateway("ORCH_BIND="+bind, "ORCH_AUTH=keys"), bind)
		require.NoError(t, gateway("ORCH_BIND="+bind, "ORCH_INSECURE=true"), bind)
	}
	require.NoError(t, gateway("ORCH_BIND=127.0.0.2"))
}

// Every service has a health check and restarts; it starts only after its dependencies are healthy; stored data has a
// volume.
func TestComposeStartsInOrder(t *testing.T) {
	t.Parallel()
	p := project(t)
	require.ElementsMatch(t, []string{"gateway", "hooks", "orchestration", "nats", "mongo"}, p.ServiceNames())
	for name, s := range p.Services {
		require.NotNil(t, s.HealthCheck, name)
		require.NotEmpty(t, s.HealthCheck.Test, name)
		require.Equal(t, "unless-stopped", s.Restart, name)
		for other, dependency := range s.DependsOn {
			require.Equal(t, types.ServiceConditionHealthy, dependency.Condition, "%s on %s", name, other)
			require.True(t, shareNetwork(s, p.Services[other]), "%s cannot reach %s", name, other)
		}
	}
	for name, needs := range map[string][]string{
		"gateway": {"hooks", "orchestration", "nats"}, "hooks": {"nats"}, "orchestration": {"mongo", "nats"},
	} {
		require.ElementsMatch(t, needs, p.Services[name].GetDependencies(), name)
	}
	for _, name := range []string{"nats", "mongo"} {
		require.True(t, slices.ContainsFunc(p.Services[name].Volumes, func(v types.ServiceVolumeConfig) bool { return v.Type == "volume" }), name)
	}
}

func shareNetwork(a, b types.ServiceConfig) bool {
	for network := range a.Networks {
		if _, ok := b.Networks[network]; ok {
			return true
		}
	}
	return false
}

// Containers have minimal privileges, and only the gateway is reachable, on loopback.
func TestComposeConfines(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name := range services {
		s := p.Services[name]
		require.True(t, s.ReadOnly, name)
		require.Equal(t, types.HealthCheckTest{"CMD", "/service", "--health"}, s.HealthCheck.Test, name)
		require.Equal(t, name, *s.Build.Args["SERVICE"], name)
		require.Contains(t, programs(t), name)
	}
	for name, s := range p.Services {
		require.Positive(t, s.MemLimit, name)
		require.Equal(t, []string{"ALL"}, s.CapDrop, name)
		require.Contains(t, s.SecurityOpt, "no-new-privileges:true", name)
		require.Equal(t, "json-file", s.Logging.Driver, name)
		require.NotEmpty(t, s.Logging.Options["max-size"], name)
		require.NotEmpty(t, s.Logging.Options["max-file"], name)
		if s.Build == nil {
			require.Regexp(t, `:\d+\.\d+\.\d+`, s.Image, "a pinned version")
		} else {
			require.Regexp(t, `^localhost/`, s.Image, "nobody's registry")
		}
		if name == "gateway" {
			require.Len(t, s.Ports, 1)
			require.Equal(t, "127.0.0.1", s.Ports[0].HostIP)
			continue
		}
		require.Empty(t, s.Ports, name)
		for network := range s.Networks {
			require.True(t, p.Networks[network].Internal, "%s of %s", network, name)
		}
	}
	require.False(t, shareNetwork(p.Services["gateway"], p.Services["mongo"]))
	require.False(t, shareNetwork(p.Services["hooks"], p.Services["mongo"]))
}
