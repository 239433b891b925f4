package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
)

// Print writes a table of the settings' names, values, sources and defaults, for --check-config. A secret's value prints
// as "(set)" or "(not set)". A setting of several services prints once.
func Print[T any](w io.Writer, settings T, sources Sources) error {
	fields, err := Fields[T]()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVALUE\tSOURCE\tDEFAULT")
	v := reflect.ValueOf(settings)
	printed := map[string]bool{}
	for _, f := range fields {
		if printed[f.Name] {
			continue
		}
		printed[f.Name] = true
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Name, shown(f, v.FieldByIndex(f.index)), sources.source(f.Name), f.Default)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print settings: %w", err)
	}
	return nil
}

// JSON returns an object of the settings' values by name, masked as in Print.
func JSON[T any](settings T) ([]byte, error) {
	fields, err := Fields[T]()
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(fields))
	v := reflect.ValueOf(settings)
	for _, f := range fields {
		values[f.Name] = shown(f, v.FieldByIndex(f.index))
	}
	out, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	return out, nil
}

func shown(f Field, v reflect.Value) string {
	if f.Secret {
		if v.IsZero() {
			return "(not set)"
		}
		return "(set)"
	}
	return text(v)
}

func text(v reflect.Value) string {
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
		if out, err := m.MarshalText(); err == nil {
			return string(out)
		}
	}
	if v.Kind() == reflect.Slice {
		items := make([]string, v.Len())
		for i := range items {
			items[i] = text(v.Index(i))
		}
		return strings.Join(items, ",")
	}
	return fmt.Sprint(v.Interface())
}

// Markdown writes the documentation table of the settings of T.
func Markdown[T any](w io.Writer) error {
	fields, err := Fields[T]()
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("| Variable | Type | Default | Meaning |\n| --- | --- | --- | --- |\n")
	for _, f := range fields {
		value := "–"
		if f.Default != "" {
			value = "`" + f.Default + "`"
		}
		description := f.Description
		if f.Secret {
			description += " A secret: prefer `" + f.Name + "_FILE`."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, value, strings.ReplaceAll(description, "|", `\|`))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write settings table: %w", err)
	}
	return nil
}
