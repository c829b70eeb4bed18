package onedash

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Fault says in one line what is wrong with a flag. Err is what the command's flags
// returned for a command line, as in SetFlagErrorFunc of cobra.
func Fault(cmd *cobra.Command, err error) string {
	help := fmt.Sprintf("; %s -help lists the flags", cmd.CommandPath())
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		if near := Nearest(name, names); near != "" {
			help = fmt.Sprintf("; did you mean -%s?", near)
		}
		return fmt.Sprintf("no flag -%s%s", name, help)
	}
	if empty, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Sprintf("-%s needs a value%s", empty.GetSpecifiedName(), help)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		return fmt.Sprintf("-%s %q: %s", f.Name, invalid.GetValue(), wanted(f.Value.Type(), invalid.Unwrap()))
	}
	return strings.Replace(err.Error(), "--", "-", 1) + help
}

// wanted says what a flag of a type takes. A type of the program says it itself: package
// flag says "parse error" for its own.
func wanted(kind string, cause error) string {
	switch kind {
	case "duration":
		return "a number with a unit, such as 500ms, 30s or 1h30m"
	case "uint":
		return "a whole number, 0 or more"
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	}
	return cause.Error()
}

// Nearest returns the name that was probably meant by a word, or "". A name is near if
// few letters differ, or if the word is its beginning.
func Nearest(word string, names []string) string {
	near, least := "", len(word)/3+1
	for _, name := range names {
		if d := distance(word, name); d < least {
			near, least = name, d
		}
	}
	if near != "" {
		return near
	}
	for _, name := range names {
		if len(word) > 1 && strings.HasPrefix(name, word) {
			return name
		}
	}
	return ""
}

// distance is how many letters must be added, removed, changed or swapped with the next
// one to make a into b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, last, before := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
