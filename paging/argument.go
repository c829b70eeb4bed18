package paging

import (
	"slices"
	"strings"
	"unicode"
)

// arguments holds the arguments of one list as they were sent, by name. They are
// those of the list itself, or of a list property under its name.
type arguments map[string]string

// argumentNames are the arguments that may be given once. paths[] may be repeated and
// is kept apart.
var argumentNames = []string{"where", "sort", "skip", "limit", "count"}

func isArgument(name string) bool { return slices.Contains(argumentNames, name) }

// nearMiss returns the argument that an unknown parameter probably misspells. It
// looks at each word of the parameter. Case, a final s and surrounding _ or - do not
// matter. path counts only if the parameter has a bracket, because an application may
// have a path of its own.
//
// Examples: Where, wheres, _where, where[], where[a] and connections[where] misspell
// where; paths and path[0] misspell paths[]. Other parameters, such as q and
// where_from, belong to the application. Ignoring a misspelt argument would return
// more than the caller asked for.
func nearMiss(parameter string) (argument string, missed bool) {
	parameter = parameter[:min(len(parameter), maxLooked)]
	for word := range strings.FieldsFuncSeq(parameter, isSeparator) {
		word = strings.Trim(word, "_-")
		for _, name := range argumentNames {
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

// maxLooked is how many bytes of a parameter are looked at. A property has a shorter path.
const maxLooked = 256

// isSeparator reports whether r separates the words of a parameter: it is no letter,
// no digit, no _ and no -.
func isSeparator(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
