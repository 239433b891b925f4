package restjson

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// unspecified ends the name of the value that stands for "no value"; what precedes it is the prefix of all values.
const unspecified = "UNSPECIFIED"

// enumWords are the two directions of an enum's spelling.
type enumWords struct {
	word   map[protoreflect.EnumNumber]string
	number map[string]protoreflect.EnumNumber
	quoted map[protoreflect.EnumNumber]string // with the quotes, ready to be written
	expect string                             // "Input should be 'A', 'B' or 'C'"
}

var enums sync.Map // protoreflect.EnumDescriptor → *enumWords

// EnumWord gives the word by which a value is known in REST and in the store; false for the unspecified value and for
// numbers that the enum does not have.
func EnumWord(ed protoreflect.EnumDescriptor, n protoreflect.EnumNumber) (string, bool) {
	w, ok := wordsOf(ed).word[n]
	return w, ok
}

// EnumNumber gives the value that a word stands for.
func EnumNumber(ed protoreflect.EnumDescriptor, word string) (protoreflect.EnumNumber, bool) {
	n, ok := wordsOf(ed).number[word]
	return n, ok
}

func wordsOf(ed protoreflect.EnumDescriptor) *enumWords {
	if w, ok := enums.Load(ed); ok {
		return w.(*enumWords)
	}
	v, _ := enums.LoadOrStore(ed, newEnumWords(ed))
	return v.(*enumWords)
}

func newEnumWords(ed protoreflect.EnumDescriptor) *enumWords {
	w := &enumWords{
		word:   map[protoreflect.EnumNumber]string{},
		number: map[string]protoreflect.EnumNumber{},
		quoted: map[protoreflect.EnumNumber]string{},
	}
	values := ed.Values()
	prefix, _ := strings.CutSuffix(string(values.Get(0).Name()), unspecified)
	if prefix == string(values.Get(0).Name()) {
		prefix = ""
	}
	var all []string
	for i := range values.Len() {
		v := values.Get(i)
		if v.Number() == 0 && strings.HasSuffix(string(v.Name()), unspecified) {
			continue
		}
		word, _ := proto.GetExtension(v.Options(), orchv1.E_Json).(string)
		if word == "" {
			word = strings.TrimPrefix(string(v.Name()), prefix)
		}
		if _, alias := w.word[v.Number()]; !alias {
			w.word[v.Number()] = word
			w.quoted[v.Number()] = string(jsontoken.AppendString(nil, word))
			all = append(all, "'"+word+"'")
		}
		w.number[word] = v.Number()
	}
	w.expect = "Input should be " + joinOr(all)
	return w
}

// joinOr writes "a, b or c".
func joinOr(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}
