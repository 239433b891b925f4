//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// bomb is a request that costs its parser the most: small on the wire, large or slow when it is read.
type bomb struct {
	entrance, name string
	method, path   string
	header         map[string]string
	body           string
	// stranger is true for a request without a key or a valid signature.
	stranger bool
}

// hostileBodies are the worst bodies of parsers of JSON and forms, by name.
func hostileBodies() map[string]string {
	return map[string]string{
		"empty objects":  "[" + strings.Repeat("{},", 1_740_000) + "{}]",
		"empty arrays":   "[" + strings.Repeat("[],", 1_740_000) + "[]]",
		"numbers":        "[" + strings.Repeat("1,", 2_500_000) + "1]",
		"nested":         strings.Repeat("[", 2_000_000) + strings.Repeat("]", 2_000_000),
		"nested objects": strings.Repeat(`{"a":`, 900_000) + "1" + strings.Repeat("}", 900_000),
		"distinct keys":  distinctKeys(90_000),
		"long text":      `{"text": "` + strings.Repeat("x", 5_000_000) + `"}`,
		"escapes":        `["` + strings.Repeat(`\u0000`, 800_000) + `"]`,
		"long number":    `{"n": ` + strings.Repeat("9", 4_000_000) + "}",
		"unfinished":     `{"a": [` + strings.Repeat(`"b",`, 1_000_000),
	}
}

func distinctKeys(n int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range n {
		fmt.Fprintf(&b, `"%d":{},`, i)
	}
	return b.String() + `"z":1}`
}

func gzipped(text string) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // The level is valid.
	_, _ = z.Write([]byte(text))                          // A buffer takes everything.
	_ = z.Close()
	return b.String()
}

// hostileForm is a form of many names.
func hostileForm() string {
	var b strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&b, "a%d=&", i)
	}
	return b.String()
}

// hookBombs are those for the webhooks of a server, by the scheme of each: github, twilio, and none.
func hookBombs(slugs map[string]string) []bomb {
	var all []bomb
	jsonType := map[string]string{"Content-Type": "application/json"}
	with := func(more map[string]string) map[string]string {
		header := map[string]string{}
		for _, m := range []map[string]string{jsonType, more} {
			maps.Copy(header, m)
		}
		return header
	}
	packed := map[string]string{"Content-Encoding": "gzip"}
	for name, body := range hostileBodies() {
		all = append(all,
			bomb{entrance: "hooks, a wrong signature", name: name, path: "/hooks/" + slugs["github"], header: with(packed), body: gzipped(body), stranger: true},
			bomb{
				entrance: "hooks, a handshake", name: name, path: "/hooks/" + slugs["github"], stranger: true,
				header: with(map[string]string{"Content-Encoding": "gzip", "Aeg-Event-Type": "SubscriptionValidation"}), body: gzipped(body),
			},
			bomb{entrance: "hooks, unsigned", name: name, path: "/hooks/" + slugs["none"], header: with(packed), body: gzipped(body)},
			bomb{entrance: "hooks, a template", name: name, path: "/hooks/" + slugs["template"], header: with(packed), body: gzipped(body)},
		)
	}
	formType := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "X-Twilio-Signature": "AAAA"}
	nested := `{"specversion": "1.0", "id": "1", "source": "s", "type": "t", "datacontenttype": "application/json", "data_base64": "` +
		base64.StdEncoding.EncodeToString([]byte(hostileBodies()["empty objects"])[:3<<20]) + `"}`
	return append(all,
		bomb{entrance: "hooks, a wrong signature", name: "a form", path: "/hooks/" + slugs["twilio"], header: with(formType), body: hostileForm(), stranger: true},
		bomb{entrance: "hooks, unsigned", name: "a form", path: "/hooks/" + slugs["none"], header: with(formType), body: hostileForm()},
		bomb{entrance: "hooks, a wrong signature", name: "100 MiB of zeros", path: "/hooks/" + slugs["github"], header: with(packed), body: gzipped(strings.Repeat("\x00", 100<<20)), stranger: true},
		bomb{entrance: "hooks, a template", name: "a CloudEvent in base64", path: "/hooks/" + slugs["cloud"], header: with(nil), body: nested},
	)
}

// apiBombs are those for routes of the API, with and without a key.
func apiBombs(key string) []bomb {
	var all []bomb
	header := func(key string, packed bool) map[string]string {
		h := map[string]string{"Content-Type": "application/json"}
		if key != "" {
			h["Authorization"] = "Bearer " + key
		}
		if packed {
			h["Content-Encoding"] = "gzip"
		}
		return h
	}
	for name, body := range hostileBodies() {
		for _, path := range []string{"/api/flows/filter", "/api/events", "/api/block_schemas/", "/api/automations/"} {
			all = append(all, bomb{entrance: path, name: name, path: path, header: header(key, true), body: gzipped(body)})
		}
		all = append(all, bomb{entrance: "API, without a key", name: name, path: "/api/flows/filter", header: header("", true), body: gzipped(body), stranger: true})
	}
	names := `{"flows": {"name": {"any_": [` + strings.Repeat(`"a",`, 1_740_000) + `"a"]}}}`
	schema := `{"fields": {"type": "object", "properties": {` + strings.Repeat(`"a": {"$ref": "#/definitions/A"},`, 100_000) + `"b": {}}}}`
	validated := `{"schema": {"definitions": {"A": {"anyOf": [` + strings.TrimSuffix(strings.Repeat(`{"$ref": "#/definitions/A"},`, 50), ",") + `]}}, "$ref": "#/definitions/A"}, "values": {"a": 1}}`
	for path, body := range map[string]string{
		"/api/flows/filter":                   names,
		"/api/block_schemas/":                 schema,
		"/api/ui/schemas/validate":            validated,
		"/api/ui/schedules/preview":           `{"schedule": {"cron": "` + strings.Repeat("0-59,", 200_000) + `0 * * * *", "timezone": "UTC"}}`,
		"/api/ui/schedules/preview ":          `{"schedule": {"rrule": "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30;BYSECOND=` + strings.TrimSuffix(strings.Repeat("0,", 100_000), ",") + `"}}`,
		"/api/ui/schedules/preview  ":         `{"schedule": {"rrule": "DTSTART:19700101T000000Z\nRRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30"}}`,
		"/api/automations/templates/validate": `"` + strings.Repeat("{% if a %}", 100_000) + `"`,
		"/api/templates/validate":             `"{{ ` + strings.Repeat("(", 200_000) + `1"`,
		"/api/webhooks/render":                `{"template": "{% for a in range(99999999) %}{% for b in range(99999999) %}x{% endfor %}{% endfor %}", "request": {"method": "POST", "body": "{}"}}`,
	} {
		path = strings.TrimSpace(path)
		all = append(all, bomb{entrance: path, name: "its own", path: path, header: header(key, false), body: body})
	}
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
	return append(all,
		bomb{entrance: "sign-in", name: "a form", path: "/login", header: form, body: hostileForm(), stranger: true},
		bomb{entrance: "sign-in", name: "a query", method: http.MethodGet, path: "/?" + hostileForm()[:60_000], stranger: true},
	)
}
