package restjson

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// unspecified is the end of the name of the value for "no value"; the prefix of all values precedes it.
const unspecified = "UNSPECIFIED"

// enumNames maps the values of an enum to their names in REST and back.
type enumNames struct {
	name   map[protoreflect.EnumNumber]string
	number map[string]protoreflect.EnumNumber
	quoted map[protoreflect.EnumNumber]string // with the quotes, ready to be written
	expect string                             // "Input should be 'A', 'B' or 'C'"
}

var enums sync.Map // protoreflect.EnumDescriptor → *enumNames

// EnumWord returns the name of a value in REST and in the store. It returns false for the unspecified value and for unknown
// numbers.
func EnumWord(ed protoreflect.EnumDescriptor, n protoreflect.EnumNumber) (string, bool) {
	w, ok := wordsOf(ed).name[n]
	return w, ok
}

// EnumNumber returns the value of a name.
func EnumNumber(ed protoreflect.EnumDescriptor, name string) (protoreflect.EnumNumber, bool) {
	n, ok := wordsOf(ed).number[name]
	return n, ok
}

func wordsOf(ed protoreflect.EnumDescriptor) *enumNames {
	if w, ok := enums.Load(ed); ok {
		return w.(*enumNames)
	}
	v, _ := enums.LoadOrStore(ed, newEnumWords(ed))
	return v.(*enumNames)
}

func newEnumWords(ed protoreflect.EnumDescriptor) *enumNames {
	w := &enumNames{
		name:   map[protoreflect.EnumNumber]string{},
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
		name, _ := proto.GetExtension(v.Options(), orchv1.E_Json).(string)
		if name == "" {
			name = strings.TrimPrefix(string(v.Name()), prefix)
		}
		if _, alias := w.name[v.Number()]; !alias {
			w.name[v.Number()] = name
			w.quoted[v.Number()] = string(jsontoken.AppendString(nil, name))
			all = append(all, "'"+name+"'")
		}
		w.number[name] = v.Number()
	}
	w.expect = "Input should be " + joinOr(all)
	return w
}

// joinOr joins items as "a, b or c".
func joinOr(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}
