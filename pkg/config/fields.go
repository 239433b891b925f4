package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
)

// Field describes one setting.
type Field struct {
	// Name is the environment variable.
	Name string
	// Type is the kind of value, such as "duration".
	Type string
	// Default is the text of the default, or empty.
	Default string
	// Description is one or two sentences.
	Description string
	// Secret settings are never printed.
	Secret bool

	index []int
}

// Fields returns the settings of the struct T in declaration order. It descends into nested structs and applies their
// envPrefix. A setting without a description is an error.
func Fields[T any]() ([]Field, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("describe settings %s: not a struct", t)
	}
	return fieldsOf(t, "", nil)
}

func fieldsOf(t reflect.Type, prefix string, index []int) ([]Field, error) {
	var fields []Field
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int(nil), index...), i)
		name, _, _ := strings.Cut(sf.Tag.Get("env"), ",")
		switch {
		case name == "-" || !sf.IsExported():
			continue
		case name == "" && sf.Type.Kind() == reflect.Struct:
			nested, err := fieldsOf(sf.Type, prefix+sf.Tag.Get("envPrefix"), at)
			if err != nil {
				return nil, err
			}
			fields = append(fields, nested...)
			continue
		case name == "":
			continue
		}
		f := Field{
			Name:        prefix + name,
			Type:        typeName(sf.Type),
			Default:     sf.Tag.Get("envDefault"),
			Description: sf.Tag.Get("desc"),
			Secret:      sf.Tag.Get("secret") == "true",
			index:       at,
		}
		if f.Description == "" {
			return nil, fmt.Errorf("describe setting %s: no desc tag", f.Name)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func typeName(t reflect.Type) string {
	if t.PkgPath() == "time" && t.Name() == "Duration" {
		return "duration"
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return strings.ToLower(t.Name())
	}
	switch t.Kind() {
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float64, reflect.Float32:
		return "number"
	case reflect.Bool:
		return "true or false"
	default:
		return t.Kind().String()
	}
}
