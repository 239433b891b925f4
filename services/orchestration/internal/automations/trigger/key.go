package trigger

import (
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// relatedPrefix begins a for_each label that is read from the first related resource of a role: "related:role:label".
const relatedPrefix = "related:"

// key returns the values of the for_each labels of an event; a label that the event lacks has the empty value.
func (n *Node) key(e *orchv1.ReceivedEvent) []string {
	if len(n.forEach) == 0 {
		return nil
	}
	values := make([]string, len(n.forEach))
	for i, label := range n.forEach {
		values[i] = LabelValue(e, label)
	}
	return values
}

// LabelValue returns the value of a for_each label of an event: of its resource, or of the first related resource of a role.
func LabelValue(e *orchv1.ReceivedEvent, label string) string {
	role, rest, related := cutRelated(label)
	if !related {
		return e.GetResource().GetLabels()[label]
	}
	for _, r := range e.GetRelated() {
		labels := r.GetLabels()
		if labels[vocabulary.Orch.ResourceRole()] == role || labels[vocabulary.Prefect.ResourceRole()] == role {
			return labels[rest]
		}
	}
	return ""
}

func cutRelated(label string) (role, rest string, ok bool) {
	label, ok = strings.CutPrefix(label, relatedPrefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(label, ":")
}

// labels are the for_each labels with a key's values.
func (n *Node) labels(key []string) map[string]string {
	if len(n.forEach) == 0 {
		return nil
	}
	labels := make(map[string]string, len(n.forEach))
	for i, label := range n.forEach {
		labels[label] = key[i]
	}
	return labels
}

// narrow picks the values of the labels that a parent tells firings apart by out of a child's key.
func (n *Node) narrow(child *Node, key []string) []string {
	if len(n.KeyLabels) == 0 {
		return nil
	}
	values := make([]string, len(n.KeyLabels))
	for i, label := range n.KeyLabels {
		for j, has := range child.KeyLabels {
			if has == label {
				values[i] = key[j]
			}
		}
	}
	return values
}

// BucketID is the id of a trigger's bucket for a key.
func BucketID(trigger uuid.UUID, key []string) uuid.UUID {
	return derived(trigger, "bucket", key...)
}

// derived computes an id from another id and a list of texts. The separator of the texts is escaped within them, so the ids of different lists
// differ.
func derived(parent uuid.UUID, kind string, texts ...string) uuid.UUID {
	var b strings.Builder
	b.WriteString(kind)
	for _, text := range texts {
		b.WriteByte(0)
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(text, "\x01", "\x01\x02"), "\x00", "\x01\x01"))
	}
	return uuid.NewSHA1(parent, []byte(b.String()))
}
