package vocabulary

import "fmt"

// ForeignLabel is a label of resources in the other vocabulary, with the server's own label of that meaning.
type ForeignLabel struct{ Label, Own string }

// ForeignLabels returns the labels of the other vocabulary.
func (v Vocabulary) ForeignLabels() []ForeignLabel {
	own, other := v.resource(), v.Other().resource()
	return []ForeignLabel{{other.id, own.id}, {other.name, own.name}, {other.role, own.role}}
}

// LabelAdvice is the sentence about a label of the other vocabulary.
func (v Vocabulary) LabelAdvice(l ForeignLabel) string {
	return fmt.Sprintf("the label %s belongs to the vocabulary %s, and this server has the vocabulary %s: write %s", l.Label, v.Other(), v, l.Own)
}
