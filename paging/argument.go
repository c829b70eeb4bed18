package paging

import (
	"strings"
	"unicode"
)

// arguments are those of one list as they were sent, by name: of the list
// itself or, under its name, of a list property.
type arguments map[string]string

// isArgument reports whether name is an argument that may be given once. What
// paths[] has is kept apart.
func isArgument(name string) bool {
	return name == "where" || name == "sort" || name == "skip" || name == "limit"
}

// split returns the list property that a parameter is prefixed with, and its
// last segment, which says what argument it is.
func split(parameter string) (list, name string) {
	if dot := strings.LastIndexByte(parameter, '.'); dot >= 0 {
		return parameter[:dot], parameter[dot+1:]
	}
	return "", parameter
}

// nearMiss returns the argument that some word of a parameter was probably
// meant to be: where of Where, where[], where[a] and connections[where], paths[]
// of paths. Other parameters are the application's, but to pass over one of
// these would answer more than was asked for.
func nearMiss(parameter string) (argument string, missed bool) {
	for word := range strings.FieldsFuncSeq(parameter, isDecoration) {
		for _, name := range []string{"where", "sort", "skip", "limit"} {
			if strings.EqualFold(word, name) {
				return name, true
			}
		}
		if strings.EqualFold(word, "paths") {
			return "paths[]", true
		}
	}
	return "", false
}

func isDecoration(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
