package paging

import (
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

const maxPathLength = 512 // bytes, as in a scope chain

// validPath reports whether path has the form of a property path. Its segments are
// letters, digits, _ and -. A segment may end with [] for an array, and with #type
// for the type of the array's elements.
func validPath(path string) bool {
	if len(path) > maxPathLength {
		return false
	}
	for segment := range strings.SplitSeq(path, ".") {
		name, kind, typed := strings.Cut(segment, "#")
		if !ascii.IsName(strings.TrimSuffix(name, "[]")) || typed && !ascii.IsName(kind) {
			return false
		}
	}
	return true
}

// covers reports whether path is outer or lies below it. A [] or a #type that only
// one of the paths has does not matter: callers ask for c_set and for c_set[]#c_foo.
func covers(outer, path string) bool {
	for {
		a, outerRest, more := strings.Cut(outer, ".")
		b, pathRest, deeper := strings.Cut(path, ".")
		if !sameSegment(a, b) {
			return false
		}
		if !more {
			return true
		}
		if !deeper {
			return false
		}
		outer, path = outerRest, pathRest
	}
}

func sameSegment(a, b string) bool {
	if a == b {
		return true
	}
	nameA, typeA, typedA := strings.Cut(a, "#")
	nameB, typeB, typedB := strings.Cut(b, "#")
	return strings.TrimSuffix(nameA, "[]") == strings.TrimSuffix(nameB, "[]") &&
		(!typedA || !typedB || typeA == typeB)
}

// below returns the part of path after outer. outer must cover path.
func below(outer, path string) string {
	for range strings.Count(outer, ".") + 1 {
		_, path, _ = strings.Cut(path, ".")
	}
	return path
}

func joinPath(outer, path string) string {
	if outer == "" {
		return path
	}
	return outer + "." + path
}
