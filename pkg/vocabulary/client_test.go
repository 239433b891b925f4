package vocabulary_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
)

func TestPrefectAgent(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"prefect/3.8.8 (API 0.8.4)":                "prefect/3.8.8",
		"prefect/3.3.7rc1 (API 0.8.4)":             "prefect/3.3.7rc1",
		"prefect/3.3.7.dev2+5.gabcdef (API 0.8)":   "prefect/3.3.7.dev2+5.gabcdef",
		"":                                         "",
		"curl/8.5.0":                               "",
		"Mozilla/5.0 (X11; Linux x86_64)":          "",
		"Go-http-client/1.1":                       "",
		"orch/1.0.0":                               "",
		"python-httpx/0.28.1":                      "",
		"prefect/3.3.7":                            "",
		"Prefect/3.3.7 (API 0.8.4)":                "",
		"prefect/3.3.7 (api 0.8.4)":                "",
		"prefect/3.3 (API 0.8.4)":                  "",
		"prefect/3.3.7 (API )":                     "",
		"prefect/3.3.7 (API 0.8.4 )":               "",
		"prefect/3.3.7 (API 0.8.4) x":              "",
		" prefect/3.3.7 (API 0.8.4)":               "",
		"my-prefect/3.3.7 (API 0.8.4)":             "",
		"prefect/3.3.7-1 (API 0.8.4)":              "",
		"prefect/3.3.7RC1 (API 0.8.4)":             "",
		"prefect/3.3.7 (API 0.8.4)\nX-Other: 1":    "",
		"prefect/3.3.7  (API 0.8.4)":               "",
		"prefect/3.3.7 (API 0.8.4) (API 0.8.4)":    "",
		"prefect/3.3.7 (API 0.8.4)\n":              "",
		"terraform-provider-prefect/2.0 (prefect)": "",
	} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			got, ok := vocabulary.PrefectAgent(agent)
			require.Equal(t, want, got)
			require.Equal(t, want != "", ok)
			require.Equal(t, want != "", vocabulary.Orch.ForeignAgent(agent))
			require.False(t, vocabulary.Prefect.ForeignAgent(agent))
			require.False(t, vocabulary.Undecided.ForeignAgent(agent))
		})
	}
}

func TestOfClient(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		name, value string
		want        vocabulary.Vocabulary
	}{
		"its User-Agent":                 {"User-Agent", "prefect/3.8.8 (API 0.8.4)", vocabulary.Prefect},
		"its version header":             {"X-Prefect-Api-Version", "0.8.4", vocabulary.Prefect},
		"its CSRF header":                {"Prefect-Csrf-Client", "x", vocabulary.Prefect},
		"its subprotocol":                {"Sec-Websocket-Protocol", "prefect", vocabulary.Prefect},
		"its subprotocol among others":   {"Sec-Websocket-Protocol", "chat, Prefect", vocabulary.Prefect},
		"both subprotocols":              {"Sec-Websocket-Protocol", "prefect, orch", vocabulary.Orch},
		"orch's subprotocol":             {"Sec-Websocket-Protocol", "orch", vocabulary.Orch},
		"another subprotocol":            {"Sec-Websocket-Protocol", "prefects", vocabulary.Orch},
		"orch's version header":          {"X-Orch-Api-Version", "0.8.4", vocabulary.Orch},
		"an empty version header":        {"X-Prefect-Api-Version", "", vocabulary.Orch},
		"a User-Agent that resembles it": {"User-Agent", "prefect/3.8.8", vocabulary.Orch},
		"nothing":                        {"Accept", "*/*", vocabulary.Orch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, vocabulary.OfClient(http.Header{test.name: {test.value}}))
		})
	}
}

func TestRefusalsNameTheCommand(t *testing.T) {
	t.Parallel()
	for _, v := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
		command := "orch vocabulary convert --to " + v.Other().String()
		require.Equal(t, command, v.Remedy())
		require.Contains(t, v.Refusal("prefect/3.6.1"), command)
		require.Contains(t, v.ShortRefusal(), command)
		require.LessOrEqual(t, len(v.ShortRefusal()), 123, "a websocket's close reason")
		require.Equal(t, v, v.Other().Other())
	}
}

func TestUndecided(t *testing.T) {
	t.Parallel()
	v := vocabulary.Undecided
	require.False(t, v.Decided())
	require.True(t, vocabulary.Orch.Decided())
	require.Equal(t, "undecided", v.String())
	require.Equal(t, "orch.flow-run.Completed", v.Name("flow-run", "Completed"))
	require.Equal(t, "onu_", v.UserKeyPrefix())
	require.Equal(t, "1.2.3", v.ServerVersion("1.2.3"))
	stored, err := vocabulary.ParseStored(v.String())
	require.NoError(t, err)
	require.Equal(t, v, stored)
	_, err = vocabulary.Parse(v.String())
	require.Error(t, err, "no setting")
}

func TestChoice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]vocabulary.Vocabulary{
		"": vocabulary.Undecided, "orch": vocabulary.Orch, "prefect": vocabulary.Prefect,
	} {
		var c vocabulary.Choice
		require.NoError(t, c.UnmarshalText([]byte(text)))
		require.Equal(t, want, c.Vocabulary())
		shown, err := c.MarshalText()
		require.NoError(t, err)
		require.Equal(t, want.String(), string(shown))
		require.Equal(t, want, vocabulary.Named(want).Vocabulary())
	}
	var c vocabulary.Choice
	require.Error(t, c.UnmarshalText([]byte("undecided")))
	require.Equal(t, vocabulary.Undecided, vocabulary.Choice{}.Vocabulary())
}
