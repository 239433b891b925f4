package config

import (
	"reflect"
	"slices"
)

// Source is where the value of a setting comes from.
type Source string

// The sources of a value.
const (
	SourceDefault Source = "default"
	SourceFile    Source = "file" // NAME_FILE
	SourceEnv     Source = "env"
	SourceFlag    Source = "flag"
)

// Sources are the sources of settings by name. A name that is missing has its default.
type Sources map[string]Source

// EnvironmentSources returns the sources of the settings of T in the environment.
func EnvironmentSources[T any]() (Sources, error) { return SourcesOf[T](environ()) }

// SourcesOf is EnvironmentSources with explicit variables, of which flags are the names that flags set.
func SourcesOf[T any](variables map[string]string, flags ...string) (Sources, error) {
	fields, err := fieldsOf(reflect.TypeFor[T](), "", nil)
	if err != nil {
		return nil, err
	}
	sources := Sources{}
	for _, f := range fields {
		if slices.Contains(flags, f.Name) {
			sources[f.Name] = SourceFlag
		} else if variables[f.Name+fileSuffix] != "" {
			sources[f.Name] = SourceFile
		} else if _, set := variables[f.Name]; set {
			sources[f.Name] = SourceEnv
		}
	}
	return sources, nil
}

func (s Sources) source(name string) Source {
	if source, ok := s[name]; ok {
		return source
	}
	return SourceDefault
}
