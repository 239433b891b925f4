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
		"type":       {map[string]string{"T_WAIT": "soon", "T_VOCABULARY": "klingon"}, []string{"Wait", "Vocabulary", "klingon"}},
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
	require.NoError(t, config.Print(&out, settings{Password: "canary", Origins: []string{"x", "y"}}))
	require.NotContains(t, out.String(), "canary")
	require.Contains(t, out.String(), "(set)")
	require.Contains(t, out.String(), "x,y")
	require.Contains(t, out.String(), "T_LOG_LEVEL")
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
