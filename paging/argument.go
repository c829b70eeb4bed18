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
// meant to be: one that is its name, in any case, with or without an s at its
// end and with any _ and - around it; path only where there is a bracket, for
// else it may well be the application's own. So it is where of Where, wheres,
// _where, where[], where[a] and connections[where], and paths[] of paths and
// path[0]. Other parameters are the application's, like q and where_from, but to
// pass over one of these would answer more than was asked for.
func nearMiss(parameter string) (argument string, missed bool) {
	for word := range strings.FieldsFuncSeq(parameter, isDecoration) {
		word = strings.Trim(word, "_-")
		for _, name := range []string{"where", "sort", "skip", "limit"} {
			if strings.EqualFold(word, name) || strings.EqualFold(word, name+"s") {
				return name, true
			}
		}
		if strings.EqualFold(word, "paths") || strings.EqualFold(word, "path") && strings.Contains(parameter, "[") {
			return "paths[]", true
		}
	}
	return "", false
}

// hasArgument reports whether some word of a prefix is an argument's name, in
// any case: where of where.limit. A list may well have a name close to one.
func hasArgument(prefix string) bool {
	for word := range strings.FieldsFuncSeq(prefix, isDecoration) {
		if word = strings.ToLower(word); isArgument(word) || word == "paths" {
			return true
		}
	}
	return false
}

func isDecoration(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
