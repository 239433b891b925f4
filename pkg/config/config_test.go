package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type nested struct {
	Level string `env:"LEVEL" envDefault:"info" desc:"How much is said."`
}

type settings struct {
	Listen     string                `env:"T_LISTEN" envDefault:"127.0.0.1:1" desc:"The address."`
	Wait       time.Duration         `env:"T_WAIT" envDefault:"2s" desc:"How long."`
	Origins    []string              `env:"T_ORIGINS" desc:"Who may."`
	Vocabulary vocabulary.Vocabulary `env:"T_VOCABULARY" desc:"Which words."`
	Password   string                `env:"T_PASSWORD" secret:"true" desc:"Who knows it may enter."`
	Log        nested                `envPrefix:"T_LOG_"`
	Unexported int                   `env:"-"`
}

func (s *settings) Validate() error {
	if s.Wait < 0 {
		return os.ErrInvalid
	}
	return nil
}

func TestLoadReadsDefaultsValuesAndFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("hush hush\n"), 0o600))
	got, err := config.LoadFrom[settings](map[string]string{
		"T_ORIGINS":       "a,b",
		"T_VOCABULARY":    "orch",
		"T_PASSWORD_FILE": file,
		"T_LOG_LEVEL":     "debug",
	})
	require.NoError(t, err)
	require.Equal(t, settings{
		Listen: "127.0.0.1:1", Wait: 2 * time.Second, Origins: []string{"a", "b"}, Password: "hush hush",
		Log: nested{Level: "debug"},
	}, got)
}

func TestLoadNamesEveryInvalidSetting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		variables map[string]string
		want      []string
	}{
		"type":       {map[string]string{"T_WAIT": "soon", "T_VOCABULARY": "klingon"}, []string{`T_WAIT="soon": expected a duration with a unit`, `T_VOCABULARY="klingon": parse vocabulary`}},
		"both":       {map[string]string{"T_PASSWORD": "a", "T_PASSWORD_FILE": "/b"}, []string{"T_PASSWORD", "T_PASSWORD_FILE"}},
		"no file":    {map[string]string{"T_PASSWORD_FILE": "/does/not/exist"}, []string{"T_PASSWORD_FILE"}},
		"validation": {map[string]string{"T_WAIT": "-1s"}, []string{os.ErrInvalid.Error()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.LoadFrom[settings](test.variables)
			require.ErrorIs(t, err, config.ErrInvalid)
			for _, part := range test.want {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestPrintHidesSecrets(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, config.Print(&out, settings{Password: "canary", Origins: []string{"x", "y"}}, config.Sources{"T_PASSWORD": config.SourceFile, "T_ORIGINS": config.SourceFlag}))
	require.NotContains(t, out.String(), "canary")
	require.Contains(t, out.String(), "(set)")
	require.Contains(t, out.String(), "x,y")
	require.Contains(t, out.String(), "T_LOG_LEVEL")
	require.Regexp(t, `T_PASSWORD +\(set\) +file`, out.String())
	require.Regexp(t, `T_ORIGINS +x,y +flag`, out.String())
	require.Regexp(t, `T_LISTEN +default +127.0.0.1:1\n`, out.String())
}

func TestJSONHidesSecrets(t *testing.T) {
	t.Parallel()
	out, err := config.JSON(settings{Password: "canary", Wait: time.Second})
	require.NoError(t, err)
	require.JSONEq(t, `{"T_LISTEN": "", "T_WAIT": "1s", "T_ORIGINS": "", "T_VOCABULARY": "orch", "T_PASSWORD": "(set)", "T_LOG_LEVEL": ""}`, string(out))
}

func TestMarkdownDocumentsEverySetting(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, config.Markdown[settings](&out))
	require.Contains(t, out.String(), "| `T_WAIT` | duration | `2s` | How long. |\n")
	require.Contains(t, out.String(), "`T_PASSWORD_FILE`")
	require.Equal(t, 8, strings.Count(out.String(), "\n"))
}

func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	type silent struct {
		A string `env:"A"`
	}
	_, err := config.Fields[silent]()
	require.ErrorContains(t, err, "desc")
}

type twoServices struct {
	One struct {
		Listen int    `env:"T_ONE_LISTEN" desc:"One."`
		Shared string `env:"T_SHARED" desc:"Both."`
	}
	Two struct {
		Listen int             `env:"T_TWO_LISTEN" desc:"Two."`
		Shared string          `env:"T_SHARED" desc:"Both."`
		Flag   bool            `env:"T_FLAG" desc:"A flag."`
		Key    secrets.Keyring `env:"T_KEY" secret:"true" desc:"A secret."`
	}
}

// TestErrorsNameVariables: the error distinguishes fields of one name in several structs, and a secret is not repeated.
func TestErrorsNameVariables(t *testing.T) {
	t.Parallel()
	_, err := config.LoadFrom[twoServices](map[string]string{
		"T_ONE_LISTEN": "80", "T_TWO_LISTEN": "eighty", "T_FLAG": "maybe", "T_KEY": "canary", "T_SHARED": "x",
	})
	require.ErrorIs(t, err, config.ErrInvalid)
	require.Equal(t, []string{
		`invalid configuration: T_TWO_LISTEN="eighty": expected an integer`,
		`invalid configuration: T_FLAG="maybe": expected true or false`,
		`invalid configuration: T_KEY: not a valid keyring`,
	}, strings.Split(err.Error(), "\n"))
}

func TestSources(t *testing.T) {
	t.Parallel()
	sources, err := config.SourcesOf[settings](map[string]string{"T_LISTEN": "x", "T_PASSWORD_FILE": "/p", "T_LOG_LEVEL": ""})
	require.NoError(t, err)
	require.Equal(t, config.Sources{
		"T_LISTEN": config.SourceEnv, "T_PASSWORD": config.SourceFile, "T_LOG_LEVEL": config.SourceEnv,
	}, sources)
}

func TestFlagsOverrideVariablesAndFiles(t *testing.T) {
	t.Setenv("T_LISTEN", "a")
	t.Setenv("T_PASSWORD_FILE", "/does/not/exist")
	variables := config.Environment(map[string]string{"T_PASSWORD": "b"})
	got, err := config.LoadFrom[settings](variables)
	require.NoError(t, err)
	require.Equal(t, "a", got.Listen)
	require.Equal(t, "b", got.Password)
	sources, err := config.SourcesOf[settings](variables, "T_PASSWORD")
	require.NoError(t, err)
	require.Equal(t, config.Sources{"T_LISTEN": config.SourceEnv, "T_PASSWORD": config.SourceFlag}, sources)
}

func TestPrintShowsASharedSettingOnce(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, config.Print(&out, twoServices{}, nil))
	require.Equal(t, 1, strings.Count(out.String(), "T_SHARED"))
}

func TestUnknownSettings(t *testing.T) {
	t.Parallel()
	require.Equal(t, []config.Unknown{
		{Name: "ORCH_GATEWAY_LISTENS", Suggestion: "ORCH_GATEWAY_LISTEN"},
		{Name: "ORCH_HOOKS_MAXBODY", Suggestion: "ORCH_HOOKS_MAX_BODY"},
		{Name: "ORCH_SECRET_KEY_FILE", Suggestion: "ORCH_SECRETS_KEY_FILE"},
		{Name: "ORCH_WALRUS_COUNT_PER_ICEBERG"},
	}, config.UnknownIn(map[string]string{
		"ORCH_GATEWAY_LISTEN": "", "ORCH_SECRETS_KEY_FILE": "", "ORCH_API_URL": "", "PATH": "", "ORCHARD": "",
		"ORCH_TEST_SEED": "", "ORCH_GATEWAY_SERVICE_HOST": "", "ORCH_GATEWAY_PORT": "", "ORCH_GATEWAY_PORT_4200_TCP_ADDR": "",
		"ORCH_GATEWAY_LISTENS": "", "ORCH_HOOKS_MAXBODY": "", "ORCH_SECRET_KEY_FILE": "", "ORCH_WALRUS_COUNT_PER_ICEBERG": "",
	}))
}
