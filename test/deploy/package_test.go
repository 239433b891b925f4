package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/services/gateway"
	"github.com/orch-project/orch/services/hooks"
	"github.com/orch-project/orch/services/orchestration"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// root is the root of the repository.
const root = "../.."

// settings are those of a service's process.
type settings[C any] struct {
	Service C
	Logging telemetry.Logging
	Tracing tracing.Settings
}

// Validate implements config.Validator.
func (s *settings[C]) Validate() error {
	if v, ok := any(&s.Service).(config.Validator); ok {
		return v.Validate()
	}
	return nil
}

// service describes the settings of a service.
type service struct {
	fields func() ([]config.Field, error)
	load   func(environment map[string]string) error
}

// services are the services by name.
var services = map[string]service{
	"gateway":       serviceOf[gateway.Config](),
	"hooks":         serviceOf[hooks.Config](),
	"orchestration": serviceOf[orchestration.Config](),
}

func serviceOf[C any]() service {
	return service{
		fields: config.Fields[settings[C]],
		load: func(environment map[string]string) error {
			_, err := config.LoadFrom[settings[C]](environment)
			return err
		},
	}
}

// has reports whether a name is a setting of the service.
func (s service) has(t *testing.T, name string) bool {
	t.Helper()
	fields, err := s.fields()
	require.NoError(t, err)
	return slices.ContainsFunc(fields, func(f config.Field) bool { return f.Name == name || f.Name+"_FILE" == name })
}

// accepts checks that every name of an environment is a setting of the service, with a valid value.
func (s service) accepts(t *testing.T, environment map[string]string) {
	t.Helper()
	for name := range environment {
		require.True(t, s.has(t, name), "%s is no setting of the service", name)
	}
	require.NoError(t, s.load(environment))
}

// programs are the possible names of the Dockerfile's SERVICE.
func programs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "services", "*", "cmd", "*", "main.go"))
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

// Images have no time zone files, so the programs that parse schedules embed them.
func TestProgramsKnowTimeZones(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orchestration", "orch"} {
		found, err := filepath.Glob(filepath.Join(root, "services", "*", "cmd", name))
		require.NoError(t, err)
		require.Len(t, found, 1)
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
		list.Dir = found[0]
		packages, err := list.Output()
		require.NoError(t, err)
		require.Contains(t, strings.Fields(string(packages)), "time/tzdata", name)
	}
}

// The Dockerfile finds a program by its name alone, so names must be unique.
func TestProgramsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	names := programs(t)
	slices.Sort(names)
	require.Equal(t, slices.Compact(slices.Clone(names)), names)
	require.Subset(t, names, []string{"gateway", "hooks", "orchestration", "orch"})
	dockerfile, err := os.ReadFile(filepath.Join(root, "deploy", "docker", "Dockerfile"))
	require.NoError(t, err)
	for _, part := range []string{`cd services/*/cmd/"${SERVICE}"`, "GOWORK=off", "USER 65532:65532", "FROM scratch", `ENTRYPOINT ["/service"]`} {
		require.Contains(t, string(dockerfile), part)
	}
}
