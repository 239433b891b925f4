package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// planWebhooks compares the webhooks of a file with those of the server. It reports all webhooks that the server would
// refuse for a missing field, before anything is changed.
func planWebhooks(ctx context.Context, s *remote.Server, wanted []map[string]any, prune, secrets bool) ([]change, error) {
	current, err := currentWebhooks(ctx, s)
	if err != nil {
		return nil, err
	}
	byName, err := uniqueNames(current, webhooksKey)
	if err != nil {
		return nil, err
	}
	var changes []change
	var errs []error
	for _, w := range wanted {
		name, _ := w["name"].(string)
		existing, found := byName[name]
		delete(byName, name)
		one := change{verb: "create", name: name, body: w}
		if found {
			one = change{verb: "unchanged", update: http.MethodPatch, name: name, id: existing.id, body: differences(existing.fields, w, secrets), before: existing.fields}
			if len(one.body) > 0 {
				one.verb = "change"
			}
		}
		if err := one.check(); err != nil {
			errs = append(errs, err)
		} else {
			errs = append(errs, one.checkFields())
		}
		changes = append(changes, one)
	}
	if prune {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			changes = append(changes, change{verb: "delete", name: name, id: byName[name].id})
		}
	}
	return changes, errors.Join(errs...)
}

// check refuses a change that lacks a field: the file must name the secrets of a new webhook and of another scheme.
func (one change) check() error {
	lacks := ""
	switch one.verb {
	case "create":
		lacks = needed(one.body)
	case "change":
		verification, ok := one.body["verification"].(map[string]any)
		if ok && verification["secrets"] == nil && verification["scheme"] != "sns" && anotherScheme(one.before, verification) {
			lacks = "secrets"
		}
	}
	switch lacks {
	case "":
		return nil
	case "template":
		return fmt.Errorf("%w: webhook %s is new and needs template or preset", errArgument, one.name)
	case "verify_token":
		return fmt.Errorf("%w: webhook %s needs verify_token_file for the handshake of Meta", errArgument, one.name)
	}
	return fmt.Errorf("%w: webhook %s needs verification.secrets_file with the secret of its sender", errArgument, one.name)
}

// anotherScheme reports whether the wanted verification has another scheme than the current webhook. Its secrets are
// meaningless for that of the other.
func anotherScheme(current, wanted map[string]any) bool {
	before, ok := current["verification"].(map[string]any)
	return !ok || wanted["scheme"] != nil && !same(before["scheme"], wanted["scheme"])
}

// differences returns the wanted fields that differ. Secrets are unknown, so they count only when they are to be sent.
func differences(current, wanted map[string]any, secrets bool) map[string]any {
	out := map[string]any{}
	for name, value := range wanted {
		verification, ok := value.(map[string]any)
		switch {
		case name == "verification" && ok:
			before, _ := current[name].(map[string]any)
			another := anotherScheme(current, verification)
			if !another && !secrets {
				verification = withoutSecrets(verification)
			}
			if verification["secrets"] != nil || another || !covers(before, verification) {
				out[name] = verification
			}
		case name == "verify_token":
			if secrets {
				out[name] = value
			}
		case !same(current[name], value):
			out[name] = value
		}
	}
	// A handshake of Meta that is new needs its token.
	if _, changed := out["handshakes"]; changed && wanted["verify_token"] != nil {
		out["verify_token"] = wanted["verify_token"]
	}
	return out
}

// withoutSecrets returns a copy of a verification that can be shown.
func withoutSecrets(verification map[string]any) map[string]any {
	out := maps.Clone(verification)
	delete(out, "secrets")
	return out
}

// covers reports whether the current verification has all wanted settings.
func covers(current, wanted map[string]any) bool {
	for key, value := range wanted {
		if key != "secrets" && !same(current[key], value) {
			return false
		}
	}
	return true
}

// same compares values as JSON, because YAML and JSON have different types of numbers.
func same(a, b any) bool {
	normal := func(v any) (out any) {
		text, err := json.Marshal(v)
		if err != nil || json.Unmarshal(text, &out) != nil {
			return v
		}
		if list, ok := out.([]any); ok && len(list) == 0 {
			return nil
		}
		return out
	}
	return reflect.DeepEqual(normal(a), normal(b))
}
