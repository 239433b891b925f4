package conversion

import (
	"errors"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// rewriter replaces the names in messages. It serves one document after another, in one goroutine.
type rewriter struct {
	// rename receives each name of the server, in either vocabulary, and returns its replacement.
	rename func(name string) string
	// reorder returns the values of a trigger's for_each labels in the order of the renamed labels.
	reorder func(trigger string, key []string) []string
	keys    secrets.Keyring
	// sealedField is where the sealed data of the document belongs.
	sealedField secrets.FieldRef
	notes       notes
	// path has the names of the fields that lead to the current one.
	path []string
}

// message rewrites a message and returns the names of the top-level fields that changed.
func (w *rewriter) message(m proto.Message) (changed []string, err error) {
	err = w.fields(m.ProtoReflect(), func(fd protoreflect.FieldDescriptor) { changed = append(changed, string(fd.Name())) })
	slices.Sort(changed)
	return changed, err
}

// fields rewrites the fields of a message, and calls changed with those that changed.
func (w *rewriter) fields(m protoreflect.Message, changed func(protoreflect.FieldDescriptor)) error {
	if !holdsNames(m.Descriptor()) {
		return nil
	}
	var errs []error
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		w.path = append(w.path, string(fd.Name()))
		touched, err := w.field(m, fd, v)
		w.path = w.path[:len(w.path)-1]
		if touched {
			changed(fd)
		}
		errs = append(errs, err)
		return true
	})
	return errors.Join(errs...)
}

func (w *rewriter) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, v protoreflect.Value) (bool, error) {
	if r := rules[fd.FullName()]; r != 0 {
		return w.apply(r, m, fd, v)
	}
	if messageOf(fd) == nil || !holdsNames(messageOf(fd)) {
		return false, nil
	}
	touched := false
	var errs []error
	each := func(inner protoreflect.Message) {
		errs = append(errs, w.fields(inner, func(protoreflect.FieldDescriptor) { touched = true }))
	}
	switch {
	case fd.IsMap():
		v.Map().Range(func(_ protoreflect.MapKey, item protoreflect.Value) bool { each(item.Message()); return true })
	case fd.IsList():
		for i := range v.List().Len() {
			each(v.List().Get(i).Message())
		}
	default:
		each(v.Message())
	}
	return touched, errors.Join(errs...)
}

// apply rewrites a field with a rule.
func (w *rewriter) apply(r rule, m protoreflect.Message, fd protoreflect.FieldDescriptor, v protoreflect.Value) (bool, error) {
	switch r {
	case ruleLabels, ruleLabelKeys, ruleSpecification:
		return w.labels(r, m, fd, v.Map())
	case ruleKey:
		return w.key(m, fd, v.List()), nil
	case ruleSealedMarkers:
		return w.sealed(m, fd, v.Bytes())
	}
	if fd.IsList() {
		list, touched := v.List(), false
		for i := range list.Len() {
			next, err := w.text(r, m, list.Get(i).String())
			if err != nil {
				return touched, err
			}
			if next != list.Get(i).String() {
				list.Set(i, protoreflect.ValueOfString(next))
				touched = true
			}
		}
		return touched, nil
	}
	if fd.Kind() == protoreflect.BytesKind {
		next, err := w.text(r, m, string(v.Bytes()))
		if err != nil || next == string(v.Bytes()) {
			return false, err
		}
		m.Set(fd, protoreflect.ValueOfBytes([]byte(next)))
		return true, nil
	}
	next, err := w.text(r, m, v.String())
	if err != nil || next == v.String() {
		return false, err
	}
	m.Set(fd, protoreflect.ValueOfString(next))
	return true, nil
}

// text rewrites one text of a field.
func (w *rewriter) text(r rule, m protoreflect.Message, text string) (string, error) {
	switch r {
	case ruleName:
		return w.noted(text, w.name(text)), nil
	case rulePattern:
		return w.noted(text, w.pattern(text)), nil
	case ruleForEach:
		return w.noted(text, w.forEach(text)), nil
	case rulePayload:
		event, ok := m.Interface().(*orchv1.ReceivedEvent)
		if _, server := vocabulary.Owner(event.GetEvent()); !ok || !server {
			return text, nil
		}
		return w.editJSON(text, func(at textPosition, s string) string { return w.payload(event.GetEvent(), at, 0, s) })
	case ruleMarkers:
		return w.editJSON(text, w.marker)
	case ruleActionJSON:
		return w.editJSON(text, w.actionValue)
	case ruleNamesInJSON:
		return w.editJSON(text, func(at textPosition, s string) string {
			if at.key {
				return s
			}
			return w.noted(s, w.pattern(s))
		})
	case ruleActionTemplate:
		return w.actionTemplate(text), nil
	case ruleEventTemplate:
		return w.eventTemplate(text), nil
	}
	return text, nil
}

// name renames a text that is a name as a whole.
func (w *rewriter) name(text string) string {
	if _, ok := vocabulary.Owner(text); !ok {
		return text
	}
	return w.rename(text)
}

// pattern renames a pattern, and keeps its negation.
func (w *rewriter) pattern(text string) string {
	if rest, negated := strings.CutPrefix(text, "!"); negated {
		return "!" + w.name(rest)
	}
	return w.name(text)
}

// relatedPrefix begins a for_each label of a related resource: "related:role:label".
const relatedPrefix = "related:"

func (w *rewriter) forEach(text string) string {
	rest, related := strings.CutPrefix(text, relatedPrefix)
	role, label, ok := strings.Cut(rest, ":")
	if !related || !ok {
		return w.name(text)
	}
	return relatedPrefix + role + ":" + w.name(label)
}

// noted records a replaced name for the report.
func (w *rewriter) noted(before, after string) string {
	if before != after {
		w.notes.changed(w.path, before, after)
	}
	return after
}

// userTexts are the labels of the server whose values are texts of users, never names.
var userTexts = inBoth(func(v vocabulary.Vocabulary) []string {
	return []string{v.ResourceName(), v.Name("name"), v.Name("state-message"), v.Name("state-name")}
})

// inBoth is the set of texts in both vocabularies.
func inBoth(texts func(vocabulary.Vocabulary) []string) map[string]bool {
	return setOf(append(texts(vocabulary.Orch), texts(vocabulary.Prefect)...))
}

// labels rewrites a map of labels: its keys, and the values that are names.
func (w *rewriter) labels(r rule, m protoreflect.Message, fd protoreflect.FieldDescriptor, labels protoreflect.Map) (bool, error) {
	type entry struct {
		key   string
		value protoreflect.Value
	}
	var entries []entry
	touched := false
	labels.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		key, value := k.String(), v
		switch {
		case userTexts[key]:
		case r == ruleLabels:
			value = protoreflect.ValueOfString(w.name(v.String()))
			touched = touched || value.String() != v.String()
		case r == ruleSpecification:
			touched = w.patterns(v.Message()) || touched
		}
		renamed := w.name(key)
		if renamed != key {
			w.noted(key, renamed)
			touched = true
		}
		entries = append(entries, entry{renamed, value})
		return true
	})
	if !touched {
		return false, nil
	}
	next := m.NewField(fd).Map()
	for _, e := range entries {
		next.Set(protoreflect.ValueOfString(e.key).MapKey(), e.value)
	}
	m.Set(fd, protoreflect.ValueOfMap(next))
	return true, nil
}

// patterns rewrites the values that a specification accepts for a label.
func (w *rewriter) patterns(m protoreflect.Message) (touched bool) {
	accepted, ok := m.Interface().(*orchv1.StringOrList)
	if !ok {
		return false
	}
	edit := func(text string) string {
		next := w.noted(text, w.pattern(text))
		touched = touched || next != text
		return next
	}
	switch kind := accepted.GetKind().(type) {
	case *orchv1.StringOrList_StringValue:
		kind.StringValue = edit(kind.StringValue)
	case *orchv1.StringOrList_List:
		for i, text := range kind.List.GetValues() {
			kind.List.Values[i] = edit(text)
		}
	}
	return touched
}

// key rewrites the values of for_each labels of a bucket or a firing.
func (w *rewriter) key(m protoreflect.Message, fd protoreflect.FieldDescriptor, list protoreflect.List) bool {
	key := make([]string, list.Len())
	for i := range key {
		key[i] = list.Get(i).String()
	}
	next := slices.Clone(key)
	for i, value := range next {
		next[i] = w.name(value)
	}
	if owner, ok := m.Interface().(interface{ GetTriggerId() string }); ok && w.reorder != nil {
		next = w.reorder(owner.GetTriggerId(), next)
	}
	if slices.Equal(key, next) {
		return false
	}
	values := m.NewField(fd).List()
	for _, value := range next {
		values.Append(protoreflect.ValueOfString(value))
	}
	m.Set(fd, protoreflect.ValueOfList(values))
	return true
}

// sealed rewrites encrypted JSON, and encrypts it again only if it changed. JSON that no available key opens stays.
func (w *rewriter) sealed(m protoreflect.Message, fd protoreflect.FieldDescriptor, sealed []byte) (bool, error) {
	if len(sealed) == 0 {
		return false, nil
	}
	text, err := w.keys.Open(w.sealedField, sealed)
	switch {
	case errors.Is(err, secrets.ErrUnknownKey) && w.keys.Empty():
		return false, err
	case err != nil:
		w.notes.left(w.path, "", "it cannot be decrypted: "+err.Error())
		return false, nil //nolint:nilerr // The report says so.
	}
	next, err := w.editJSON(string(text), w.marker)
	if err != nil || next == string(text) {
		return false, err
	}
	if sealed, err = w.keys.Seal(w.sealedField, []byte(next)); err != nil {
		return false, err
	}
	m.Set(fd, protoreflect.ValueOfBytes(sealed))
	return true, nil
}
