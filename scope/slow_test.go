package scope_test

import (
	"regexp"
	"strings"
)

// A second implementation of the language, slow and plain. The tests compare the package
// with it. It shares no code with the package, and is short enough to be read beside
// section 5.5 of the interface.

const (
	reObject   = `[a-z0-9_-]{1,40}(?:#[a-z0-9_-]{1,40})?`
	reID       = `(?:[0-9A-Fa-f]{24}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})`
	reProperty = `[A-Za-z0-9_-]{1,40}(?:\[\])?(?:#[A-Za-z0-9_-]{1,40})?`
	reName     = `[A-Za-z0-9_-]{1,40}`
)

var slowGrammar = []*regexp.Regexp{
	regexp.MustCompile(`^object(?:\.(?:\*|create|read|update|delete)(?:\.(?:\*|` + reObject + `)(?:\.(?:\*|` + reID + `)(?:\.` + reProperty + `)*)?)?)?$`),
	regexp.MustCompile(`^script(?:\.(?:execute|runner|execute\.runner|(?:execute\.)?route(?:\.` + reName + `)?|\*\.` + reName + `))?$`),
	regexp.MustCompile(`^view(?:\.(?:execute|(?:\*|execute)\.` + reName + `))?$`),
	regexp.MustCompile(`^deployment(?:\.(?:execute|(?:\*|execute)\.` + reName + `))?$`),
	regexp.MustCompile(`^admin(?:\.(?:read|update))?$`),
}

var (
	slowNoRoute = regexp.MustCompile(`^script\.(?:(?:execute\.)?route|\*)\.(?:route|runner)$`)
	slowKnown   = regexp.MustCompile(`^(?:object|script|view|deployment|admin)$`)
	slowRoot    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)
	slowUnknown = regexp.MustCompile(`^(?:\*|` + reProperty + `|[A-Za-z0-9_~:@+=-]+)$`)
	slowCreate  = regexp.MustCompile(`^object\.create\.[^.]+\.[^.*]`)
	slowDelete  = regexp.MustCompile(`^object\.delete\.[^.]+\.[^.]+\.`)
)

type verdict int

const (
	bad verdict = iota
	unknown
	good
)

// slowParse returns a chain in canonical form; "*" is everything.
func slowParse(s string) (string, verdict) {
	if len(s) > 512 || strings.Count(s, ".") > 31 {
		return "", bad
	}
	for len(s) > 2 && strings.HasSuffix(s, ".*") {
		s = strings.TrimSuffix(s, ".*")
	}
	if s == "" || s == "*" {
		return "*", good
	}
	for _, form := range slowGrammar {
		if form.MatchString(s) && !slowNoRoute.MatchString(s) {
			return slowScript(s), good
		}
	}
	segments := strings.Split(s, ".")
	if !slowRoot.MatchString(segments[0]) || slowKnown.MatchString(segments[0]) {
		return "", bad
	}
	for _, segment := range segments[1:] {
		if !slowUnknown.MatchString(segment) {
			return "", bad
		}
	}
	return s, unknown
}

func slowScript(s string) string {
	if s == "script.execute" {
		return "script"
	}
	s = strings.Replace(s, "script.execute.", "script.", 1)
	return strings.Replace(s, "script.*.", "script.route.", 1)
}

// slowCovers reports whether a grant covers a need: it is a prefix of the need, by
// segments, and it can match something.
func slowCovers(grant, need string) bool {
	if slowMatchless(grant) {
		return false
	}
	if grant == "*" {
		return true
	}
	g, n := strings.Split(grant, "."), strings.Split(need, ".")
	if len(g) > len(n) {
		return false
	}
	for i := range g {
		if !slowSegment(g[i], n[i]) {
			return false
		}
	}
	return true
}

func slowSegment(grant, need string) bool {
	return grant == "*" || grant == need || strings.HasPrefix(need, grant+"#")
}

func slowMatchless(chain string) bool {
	return slowCreate.MatchString(chain) || slowDelete.MatchString(chain)
}

// slowAllows decides over lists as they stand on the wire. ok reports whether everything
// parses and has a known root.
func slowAllows(grants []string, need string) (allowed, ok bool) {
	need, verdict := slowParse(need)
	ok = verdict == good && need != "*"
	for _, grant := range grants {
		grant, verdict := slowParse(grant)
		ok = ok && verdict == good
		allowed = allowed || verdict == good && slowCovers(grant, need)
	}
	return allowed && ok, ok
}

// slowOverlaps reports whether grant and need both match some operation.
func slowOverlaps(grant, need string) bool {
	both, ok := slowMeet(grant, need)
	return slowCovers(grant, need) || ok && !slowMatchless(both)
}

// slowMeet returns the chain that covers what both chains cover.
func slowMeet(grant, need string) (both string, ok bool) {
	switch {
	case grant == "*":
		return need, true
	case need == "*":
		return grant, true
	}
	g, n := strings.Split(grant, "."), strings.Split(need, ".")
	for i := range min(len(g), len(n)) {
		switch {
		case slowSegment(n[i], g[i]):
		case slowSegment(g[i], n[i]):
			g[i] = n[i]
		default:
			return "", false
		}
	}
	if len(n) > len(g) {
		g = append(g, n[len(g):]...)
	}
	return strings.Join(g, "."), true
}
