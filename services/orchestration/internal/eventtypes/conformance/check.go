package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

// Violation is the first part of a payload that violates a schema.
type Violation struct {
	// Path is a JSON pointer to the part; "" is the payload.
	Path string
	// Reason says what the schema demands.
	Reason string
}

// maxText bounds a path and a reason, in bytes.
const maxText = 500

// Check returns the first violation of a payload, in the order of the names; nil for none.
func (s *Schema) Check(payload []byte) *Violation {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return &Violation{Reason: "is not JSON"}
	}
	c := &check{steps: stepsFor(payload)}
	reason := c.value(s.root, value)
	if c.steps < 0 {
		reason = exhausted // Alternatives fail when no steps are left.
	}
	if reason == "" {
		return nil
	}
	return &Violation{Path: pointer(c.path), Reason: cut(reason)}
}

// stepsFor returns the number of steps for a payload. A check of a small one costs no multiple of what receiving and storing it costs.
func stepsFor(payload []byte) int { return min(minSteps+len(payload), maxSteps) }

// pointer returns a JSON pointer of at most maxText bytes.
func pointer(path []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var text strings.Builder
	for _, step := range path {
		if text.Len() > maxText {
			break
		}
		text.WriteString("/" + escape.Replace(cut(step)))
	}
	return cut(text.String())
}

// cut shortens a text to maxText at the boundary of a character.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// check is the state of one check.
type check struct {
	steps int
	// path leads to the value. It stays where a check failed, except in alternatives.
	path []string
	// alternatives is the number of alternatives around the current value. Nobody reads the reasons of their failures.
	alternatives int
}

// exhausted is the reason of a check that ends early.
const exhausted = "takes too many steps to check"

// violates returns the reason of a failure. Names are shortened, because they may be as long as the payload.
func (c *check) violates(format string, values ...any) string {
	if c.alternatives > 0 {
		return "violates"
	}
	for i, value := range values {
		if name, ok := value.(string); ok {
			values[i] = cut(name)
		}
	}
	return fmt.Sprintf(format, values...)
}

// spend counts steps. It returns false when there are none left.
func (c *check) spend(steps int) bool {
	c.steps -= steps
	return c.steps >= 0
}

// below checks a value within the current one.
func (c *check) below(step string, s *jsonschema.Schema, value any) string {
	c.path = append(c.path, step)
	reason := c.value(s, value)
	if reason == "" {
		c.path = c.path[:len(c.path)-1]
	}
	return reason
}

// passes checks an alternative, whose failure is not a violation by itself.
func (c *check) passes(s *jsonschema.Schema, value any) bool {
	depth := len(c.path)
	c.alternatives++
	passes := c.value(s, value) == ""
	c.alternatives--
	c.path = c.path[:depth]
	return passes
}

// value returns why a value violates a schema; "" if it does not.
func (c *check) value(s *jsonschema.Schema, value any) string {
	if !c.spend(1) {
		return exhausted
	}
	if s.Bool != nil {
		if *s.Bool {
			return ""
		}
		return "is not allowed"
	}
	if reason := c.typed(s, value); reason != "" {
		return reason
	}
	if reason := c.listed(s, value); reason != "" {
		return reason
	}
	if reason := c.combined(s, value); reason != "" {
		return reason
	}
	switch value := value.(type) {
	case string:
		return c.text(s, value)
	case json.Number:
		return c.number(s, value)
	case []any:
		return c.array(s, value)
	case map[string]any:
		return c.object(s, value)
	}
	return ""
}

// typed checks the type.
func (c *check) typed(s *jsonschema.Schema, value any) string {
	if s.Types == nil || s.Types.IsEmpty() {
		return ""
	}
	name := "null"
	switch value := value.(type) {
	case bool:
		name = "boolean"
	case string:
		name = "string"
	case []any:
		name = "array"
	case map[string]any:
		name = "object"
	case json.Number:
		name = "number"
		if hasType(s.Types, "integer") && c.isInteger(value) {
			return ""
		}
	}
	if hasType(s.Types, name) {
		return ""
	}
	return c.violates("is of type %s instead of %s", name, strings.Join(s.Types.ToStrings(), " or "))
}

// isInteger reports whether a number has no fraction. 1.0 has none.
func (c *check) isInteger(value json.Number) bool {
	if !strings.ContainsAny(value.String(), ".eE") {
		return true
	}
	n, ok := c.rational(value)
	return ok && n.IsInt()
}

func hasType(types *jsonschema.Types, name string) bool {
	var one jsonschema.Types
	one.Add(name)
	return *types&one != 0
}

// listed checks enum and const.
func (c *check) listed(s *jsonschema.Schema, value any) string {
	if s.Const != nil && !c.equal(*s.Const, value) {
		return "is another value than the constant"
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum.Values, func(one any) bool { return c.equal(one, value) }) {
		return "is none of the listed values"
	}
	return ""
}

// combined checks the keywords that apply other schemas to the same value.
func (c *check) combined(s *jsonschema.Schema, value any) string {
	if s.Ref != nil {
		if reason := c.value(s.Ref, value); reason != "" {
			return reason
		}
	}
	for _, one := range s.AllOf {
		if reason := c.value(one, value); reason != "" {
			return reason
		}
	}
	if s.AnyOf != nil && !slices.ContainsFunc(s.AnyOf, func(one *jsonschema.Schema) bool { return c.passes(one, value) }) {
		return "satisfies no schema of anyOf"
	}
	if s.OneOf != nil {
		passed := 0
		for _, one := range s.OneOf {
			if c.passes(one, value) {
				passed++
			}
		}
		if passed != 1 {
			return c.violates("satisfies %d schemas of oneOf", passed)
		}
	}
	if s.Not != nil && c.passes(s.Not, value) {
		return "satisfies the schema of not"
	}
	if s.If != nil {
		then := s.Then
		if !c.passes(s.If, value) {
			then = s.Else
		}
		if then != nil {
			return c.value(then, value)
		}
	}
	return ""
}

func (c *check) text(s *jsonschema.Schema, value string) string {
	if s.MinLength != nil || s.MaxLength != nil {
		if !c.spend(len(value) / bytesPerStep) {
			return exhausted
		}
		n := utf8.RuneCountInString(value)
		switch {
		case s.MinLength != nil && n < *s.MinLength:
			return c.violates("has less than %d characters", *s.MinLength)
		case s.MaxLength != nil && n > *s.MaxLength:
			return c.violates("has more than %d characters", *s.MaxLength)
		}
	}
	if s.Pattern != nil && !c.matches(s.Pattern, value) {
		return "does not match " + s.Pattern.String()
	}
	if s.Format != nil && (s.Format.Name == "uuid" || s.Format.Name == "date-time") && !c.isFormatted(s.Format, value) {
		return "is no " + s.Format.Name
	}
	return ""
}

// isFormatted reports whether a text has a format. It costs as much as a text of its length.
func (c *check) isFormatted(format *jsonschema.Format, text string) bool {
	return c.spend(1+len(text)/instructionsPerStep) && format.Validate(text) == nil
}

// matches reports whether a text matches a pattern. Each character may be compared with each instruction of the pattern.
func (c *check) matches(pattern jsonschema.Regexp, text string) bool {
	n := 1
	if pattern, ok := pattern.(parameters.Pattern); ok {
		n = pattern.Instructions
	}
	return c.spend(1+len(text)*n/instructionsPerStep) && pattern.MatchString(text)
}

func (c *check) number(s *jsonschema.Schema, value json.Number) string {
	if s.Minimum == nil && s.Maximum == nil && s.ExclusiveMinimum == nil && s.ExclusiveMaximum == nil && s.MultipleOf == nil {
		return ""
	}
	n, ok := c.rational(value)
	switch {
	case !ok:
		return "has too many digits to compare"
	case s.Minimum != nil && n.Cmp(s.Minimum) < 0:
		return "is less than the minimum"
	case s.Maximum != nil && n.Cmp(s.Maximum) > 0:
		return "is greater than the maximum"
	case s.ExclusiveMinimum != nil && n.Cmp(s.ExclusiveMinimum) <= 0:
		return "is not greater than the exclusive minimum"
	case s.ExclusiveMaximum != nil && n.Cmp(s.ExclusiveMaximum) >= 0:
		return "is not less than the exclusive maximum"
	case s.MultipleOf != nil && !new(big.Rat).Quo(n, s.MultipleOf).IsInt():
		return "is not a multiple"
	}
	return ""
}

// rational parses a number. ok is false if the number is too large to compare.
func (c *check) rational(value json.Number) (n *big.Rat, ok bool) {
	cost := len(value) / digitsPerStep
	if strings.ContainsAny(value.String(), "eE") {
		cost = exponentSteps
	}
	if !c.spend(2 + cost) {
		return nil, false
	}
	return parameters.Rational(value)
}

func (c *check) array(s *jsonschema.Schema, items []any) string {
	switch {
	case s.MinItems != nil && len(items) < *s.MinItems:
		return c.violates("has less than %d items", *s.MinItems)
	case s.MaxItems != nil && len(items) > *s.MaxItems:
		return c.violates("has more than %d items", *s.MaxItems)
	}
	for i, item := range items {
		schema := itemSchema(s, i)
		if schema == nil { // None describes the items that follow.
			if additional, ok := s.AdditionalItems.(bool); ok && !additional {
				return c.violates("has more than %d items", i)
			}
			break
		}
		if reason := c.below(strconv.Itoa(i), schema, item); reason != "" {
			return reason
		}
	}
	if reason := c.contains(s, items); reason != "" {
		return reason
	}
	if s.UniqueItems {
		for i := range items {
			for j := range i {
				if c.equal(items[i], items[j]) {
					return "has equal items"
				}
				if c.steps < 0 {
					return exhausted
				}
			}
		}
	}
	return ""
}

// itemSchema returns the schema of the item at a position; nil for none.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	tuple, isTuple := s.Items.([]*jsonschema.Schema)
	switch {
	case isTuple && i < len(tuple):
		return tuple[i]
	case isTuple:
		additional, _ := s.AdditionalItems.(*jsonschema.Schema)
		return additional
	case i < len(s.PrefixItems):
		return s.PrefixItems[i]
	case s.Items2020 != nil:
		return s.Items2020
	}
	all, _ := s.Items.(*jsonschema.Schema)
	return all
}

// contains checks the number of items that satisfy contains.
func (c *check) contains(s *jsonschema.Schema, items []any) string {
	if s.Contains == nil {
		return ""
	}
	n := 0
	for _, item := range items {
		if c.passes(s.Contains, item) {
			n++
		}
		if c.steps < 0 {
			return exhausted
		}
	}
	least := 1
	if s.MinContains != nil {
		least = *s.MinContains
	}
	if n < least || s.MaxContains != nil && n > *s.MaxContains {
		return c.violates("has %d items that satisfy contains", n)
	}
	return ""
}

func (c *check) object(s *jsonschema.Schema, members map[string]any) string {
	switch {
	case s.MinProperties != nil && len(members) < *s.MinProperties:
		return c.violates("has less than %d properties", *s.MinProperties)
	case s.MaxProperties != nil && len(members) > *s.MaxProperties:
		return c.violates("has more than %d properties", *s.MaxProperties)
	case !c.spend(len(s.Required) + len(s.DependentRequired) + len(s.DependentSchemas)):
		return exhausted
	}
	for _, name := range s.Required {
		if _, ok := members[name]; !ok {
			return c.violates("lacks the required property %q", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentRequired)) {
		if _, ok := members[name]; !ok {
			continue
		}
		if !c.spend(len(s.DependentRequired[name])) {
			return exhausted
		}
		for _, other := range s.DependentRequired[name] {
			if _, ok := members[other]; !ok {
				return c.violates("lacks the property %q, which %q requires", other, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		if _, ok := members[name]; ok {
			if reason := c.value(s.DependentSchemas[name], members); reason != "" {
				return reason
			}
		}
	}
	if s.PropertyNames == nil && s.Properties == nil && s.PatternProperties == nil && s.AdditionalProperties == nil {
		return ""
	}
	if !c.spend(len(members)) {
		return exhausted
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if reason := c.member(s, name, members[name]); reason != "" {
			return reason
		}
	}
	return ""
}

// member checks one member of an object.
func (c *check) member(s *jsonschema.Schema, name string, value any) string {
	if s.PropertyNames != nil && !c.passes(s.PropertyNames, name) {
		return c.violates("has a property %q, whose name is not allowed", name)
	}
	own, described := s.Properties[name]
	if described {
		if reason := c.below(name, own, value); reason != "" {
			return reason
		}
	}
	for pattern, schema := range s.PatternProperties {
		if !c.matches(pattern, name) {
			continue
		}
		described = true
		if reason := c.below(name, schema, value); reason != "" {
			return reason
		}
	}
	if described {
		return ""
	}
	switch additional := s.AdditionalProperties.(type) {
	case bool:
		if !additional {
			return c.violates("has the additional property %q", name)
		}
	case *jsonschema.Schema:
		return c.below(name, additional, value)
	}
	return ""
}

// equal reports whether two values are the same. It costs a step for each value. Without steps it is false.
func (c *check) equal(a, b any) bool {
	if !c.spend(1) {
		return false
	}
	switch a := a.(type) {
	case string:
		other, ok := b.(string)
		return ok && len(a) == len(other) && c.spend(len(a)/bytesPerStep) && a == other
	case json.Number:
		other, ok := b.(json.Number)
		if !ok || a == other {
			return ok
		}
		x, okX := c.rational(a)
		y, okY := c.rational(other)
		return okX && okY && x.Cmp(y) == 0
	case []any:
		other, ok := b.([]any)
		return ok && slices.EqualFunc(a, other, c.equal)
	case map[string]any:
		other, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, other, c.equal)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}
