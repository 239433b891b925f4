package standalone_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Clients send templates as they are, some as a JSON string.
func TestTemplatesAreCheckedAsTextAndAsJSON(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	type fieldError struct {
		Error struct {
			Line            int
			Message, Source string
		}
	}
	check := func(path, contentType, body string) (int, fieldError) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.api+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", contentType)
		response, err := s.http.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		var found fieldError
		if len(text) > 0 {
			require.NoError(t, json.Unmarshal(text, &found), string(text))
		}
		return response.StatusCode, found
	}
	loop := func(body string) string { return "{% for a in b %}" + body + "{% endfor %}" }
	for template, want := range map[string]fieldError{
		"{{ hello }} world!\n": {},
		"":                     {},
		"1 {{ hello }}\n2 {{ ain't } at all\n3": {struct {
			Line            int
			Message, Source string
		}{2, `unexpected char "'" at 22`, "1 {{ hello }}\n2 {{ ain't } at all\n3"}},
		loop(loop(loop(""))): {struct {
			Line            int
			Message, Source string
		}{0, "Contains nested for loops at a depth of 3. Templates can nest for loops no more than 2 loops deep.", loop(loop(loop("")))}},
	} {
		status := 204
		if want != (fieldError{}) {
			status = 422
		}
		quoted, err := json.Marshal(template)
		require.NoError(t, err)
		for _, path := range []string{"/templates/validate", "/automations/templates/validate"} {
			for contentType, body := range map[string]string{"text/plain": template, "application/json": string(quoted)} {
				got, found := check(path, contentType, body)
				require.Equal(t, status, got, "%s %s", contentType, template)
				require.Equal(t, want, found, "%s %s", contentType, template)
			}
		}
	}
	status, _ := check("/templates/validate", "text/plain", "\xff")
	require.Equal(t, 422, status)
}
