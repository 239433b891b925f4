package clientversion_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/clientversion"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func agent(version string) string { return "prefect/" + version + " (API 0.8.4)" }

func sdk(version string) clientversion.Client { return clientversion.New(agent(version), "") }

func TestOnlyWholeUserAgentsOfTheSDKHaveAVersion(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		"":                            false,
		"curl/8.0":                    false,
		"prefect/3.3.7":               false,
		"Prefect/3.3.7 (API 0.8.4)":   false,
		" prefect/3.3.7 (API 0.8.4)":  false,
		"prefect/3.3.7 (API 0.8.4) x": false,
		"prefect/3.3.7 (API 0.8 4)":   false,
		"prefect/3.3.7 (API )":        false,
		"prefect/3.3 (API 0.8.4)":     false,
		"prefect/3.3.7-1 (API 0.8.4)": false,
		"prefect/3.3.7A1 (API 0.8.4)": false,
		agent("3.3.7"):                true,
		agent("3.3.7.dev2+5.gabcdef"): true,
		"prefect/3.3.7 (API newest)":  true,
		// These fit the form of a User-Agent, but no Python version.
		agent("3.3.7zz"):  false,
		agent("3.3.7."):   false,
		agent("3.3.7+"):   false,
		agent("3.3.7+a+"): false,
		agent("3.3.7..1"): false,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, valid, clientversion.ParseSDK(text).Known())
		})
	}
}

// The Python package "packaging" 26 orders the versions so.
func TestVersionsAreInTheOrderOfPEP440(t *testing.T) {
	t.Parallel()
	ordered := [][]string{
		{"0.0.0"},
		{"3.0.0.dev0", "3.0.0.dev"},
		{"3.0.0.dev9"},
		{"3.0.0a1.dev1"},
		{"3.0.0a1", "3.0.0alpha1", "3.0.0.a.1"},
		{"3.0.0b1", "3.0.0beta01"},
		{"3.0.0b10"},
		{"3.0.0rc2", "3.0.0c2", "3.0.0pre2", "3.0.0.preview.2"},
		{"3.0.0rc20"},
		{"3.0.0", "3.0.0.0.0", "03.0.00"},
		{"3.0.0+1.gabc"},
		{"3.0.0.post1.dev1"},
		{"3.0.0.post1", "3.0.0rev1", "3.0.0r1"},
		{"3.0.0.1"},
		{"3.3.7.dev2+5.gabcdef"},
		{"3.3.7rc1"},
		{"3.3.7"},
		{"3.3.10"},
		{"3.10.0"},
		{"30.0.0"},
		{"99999999999999999999.0.0"},
		{"100000000000000000000.0.0"},
	}
	for i, as := range ordered {
		for j, bs := range ordered {
			for _, a := range as {
				for _, b := range bs {
					got := clientversion.ParseSDK(agent(a)).Compare(clientversion.ParseSDK(agent(b)))
					switch {
					case i < j:
						require.Negative(t, got, "%s < %s", a, b)
					case i > j:
						require.Positive(t, got, "%s > %s", a, b)
					default:
						require.Zero(t, got, "%s == %s", a, b)
					}
				}
			}
		}
	}
}

func TestAPIVersionsAreThreeIntegers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]clientversion.API{
		"0.8.4": {0, 8, 4}, "0.08.4": {0, 8, 4}, "0.8.-4": {0, 8, -4}, "10.0.99999999999999999999": {10, 0, 1<<63 - 1},
	} {
		got, ok := clientversion.ParseAPI(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0.8", "0.8.4.1", "abc", "v0.8.4", "0.8.", "0..4", "0.8.4 ", "0.8.x"} {
		_, ok := clientversion.ParseAPI(text)
		require.False(t, ok, text)
	}
}

func TestBehavioursBySDK(t *testing.T) {
	t.Parallel()
	type behaviours struct{ omits, acquires, renews, taskRunEvents, artifactEvents bool }
	behavioursOf := func(c clientversion.Client) behaviours {
		return behaviours{len(c.Omitted()) > 0, c.AcquiresSlots(), c.RenewsLeases(), c.PublishesTaskRunEvents(), c.PublishesArtifactEvents()}
	}
	for version, want := range map[string]behaviours{
		"2.20.1":               {omits: true},
		"3.0.0rc19":            {omits: true, taskRunEvents: true},
		"3.0.0rc20":            {omits: true, acquires: true, taskRunEvents: true},
		"3.0.0rc21":            {omits: true, taskRunEvents: true},
		"3.0.0":                {omits: true, acquires: true, taskRunEvents: true},
		"3.0.0.0":              {omits: true, acquires: true, taskRunEvents: true},
		"3.0.3":                {omits: true, acquires: true, taskRunEvents: true},
		"3.0.3+1.gabc":         {omits: true, taskRunEvents: true},
		"3.0.4":                {omits: true, taskRunEvents: true},
		"3.3.7rc1":             {omits: true, taskRunEvents: true},
		"3.3.7":                {omits: true, taskRunEvents: true},
		"3.3.7+1.gabc":         {taskRunEvents: true},
		"3.3.8.dev1":           {taskRunEvents: true},
		"3.3.8":                {taskRunEvents: true},
		"3.3.10":               {taskRunEvents: true},
		"3.4.11.dev1":          {taskRunEvents: true},
		"3.4.11":               {renews: true, taskRunEvents: true},
		"3.4.15":               {renews: true, taskRunEvents: true, artifactEvents: true},
		"3.9.1":                {renews: true, taskRunEvents: true, artifactEvents: true},
		"99.0.0":               {renews: true, taskRunEvents: true, artifactEvents: true},
		"3.3.7.dev2+5.gabcdef": {omits: true, taskRunEvents: true},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, behavioursOf(sdk(version)))
		})
	}
	require.Zero(t, behavioursOf(clientversion.New("curl/8", "")), "unknown")
	require.Zero(t, behavioursOf(clientversion.Client{}), "the server")
	require.Subset(t, clientversion.Omittable(), sdk("3.0.0").Omitted())
}

func TestBehavioursByAPI(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct{ retries, tracks bool }{
		"":      {true, true},
		"0.8.0": {false, false},
		"0.8.2": {false, false},
		"0.8.3": {true, false},
		"0.8.4": {true, true},
		"0.9.0": {true, true},
		"1.0.0": {true, true},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := clientversion.New(agent("3.0.0"), version)
			require.Equal(t, want.retries, c.RetriesTaskRuns())
			require.Equal(t, want.tracks, c.TracksPauses())
		})
	}
}

func TestClientOfARequest(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("User-Agent", agent("3.3.7"))
	r.Header.Set("X-PREFECT-API-VERSION", "0.8.3")
	require.Equal(t, clientversion.New(agent("3.3.7"), "0.8.3"), clientversion.Of(r))
}

func FuzzParseSDK(f *testing.F) {
	for _, text := range []string{"", "curl/8", agent("3.3.7"), agent("3.3.7.dev2+5.gabcdef"), agent("3.0.0rc20.post1.dev3")} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := clientversion.ParseSDK(text)
		require.Zero(t, v.Compare(v))
	})
}

func TestComparisonIsAntisymmetric(t *testing.T) {
	t.Parallel()
	version := rapid.StringMatching(`\d{1,3}\.\d{1,3}\.\d{1,3}(a|b|rc|\.post|\.dev)?\d{0,2}(\.dev\d)?(\+\d)?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := clientversion.ParseSDK(agent(version.Draw(t, "a"))), clientversion.ParseSDK(agent(version.Draw(t, "b")))
		require.Equal(t, -b.Compare(a), a.Compare(b))
	})
}
