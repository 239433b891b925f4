package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// renamedSettings maps former names of settings to current ones. A program refuses to start while a former name is set,
// because it would run with the default instead. Rows are never deleted.
var renamedSettings = map[string]string{}

// checkRenamed returns an error for each former name that is set.
func checkRenamed(variables, renamed map[string]string) error {
	var errs []error
	for _, former := range slices.Sorted(maps.Keys(renamed)) {
		for _, suffix := range []string{"", fileSuffix} {
			if _, set := variables[former+suffix]; set {
				errs = append(errs, fmt.Errorf("%w: %s was renamed: set %s instead", ErrInvalid, former+suffix, renamed[former]+suffix))
			}
		}
	}
	return errors.Join(errs...)
}
