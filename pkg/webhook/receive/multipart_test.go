package receive_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/receive"
)

// multipartType is the Content-Type of the forms below.
const multipartType = `Multipart/Form-Data; boundary="the limit"`

// form joins parts, each a header and a content.
func form(parts ...string) string {
	var b strings.Builder
	for i := 0; i < len(parts); i += 2 {
		b.WriteString("--the limit\r\n" + parts[i] + "\r\n\r\n" + parts[i+1] + "\r\n")
	}
	return b.String() + "--the limit--\r\n"
}

func TestMultipartForms(t *testing.T) {
	t.Parallel()
	// The digest is that of the three bytes "abc" (FIPS 180-4, appendix B.1 of its predecessor).
	abc := &receive.File{Name: "a.bin", Type: "application/x-b", Size: 3, SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
	for name, c := range map[string]struct {
		body string
		want []receive.Pair
	}{
		"no parts": {"--the limit--\r\n", nil},
		"fields":   {form(`Content-Disposition: form-data; name="a"`, "1", `Content-Disposition: form-data; name="b"`, ""), pairs("a", "1", "b", "")},
		"a repeated name": {
			form(`Content-Disposition: form-data; name="a"`, "1", `Content-Disposition: form-data; name="b"`, "2", `Content-Disposition: form-data; name="a"`, "3"),
			pairs("a", "3", "b", "2"),
		},
		"a charset": {form("Content-Disposition: form-data; name=a\r\nContent-Type: text/plain; charset=latin1", "\xfc"), pairs("a", "ü")},
		"no UTF-8":  {form(`Content-Disposition: form-data; name="a"`, "\xff"), pairs("a", "\ufffd")},
		"JSON":      {form("Content-Disposition: form-data; name=a\r\nContent-Type: application/json", `{"b": 1}`), pairs("a", `{"b": 1}`)},
		"a file": {
			form("Content-Disposition: form-data; name=\"f\"; filename=\"../up/a.bin\"\r\nContent-Type: application/x-b", "abc", `Content-Disposition: form-data; name="a"`, "1"),
			[]receive.Pair{{Key: "f", File: abc}, {Key: "a", Value: "1"}},
		},
		"no transfer encoding is undone": {form("Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64", "YWJj"), pairs("a", "YWJj")},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, multipartType, c.body).Body()
			require.True(t, got.Form, name)
			require.Equal(t, c.want, got.Pairs, name)
		})
	}
	part := []string{`Content-Disposition: form-data; name="a"`, "1"}
	for name, c := range map[string][2]string{
		"cut":            {multipartType, strings.TrimSuffix(form(part...), "--the limit--\r\n")},
		"no boundary":    {"multipart/form-data", form(part...)},
		"not a form":     {multipartType, `{"a": 1}`},
		"too many parts": {multipartType, form(strings.Split(strings.Repeat("A: b\nc\n", 1001), "\n")[:2002]...)},
		"mixed":          {`multipart/mixed; boundary="the limit"`, form(part...)},
	} {
		got := read(t, c[0], c[1]).Body()
		require.False(t, got.Form, name)
		require.Equal(t, c[1], got.Text, name)
	}
}
