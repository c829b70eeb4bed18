package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tally counts what all rounds did, and stores their findings.
type tally struct {
	mu          sync.Mutex
	principals  map[string]int // by mechanism
	deepest     int
	attempts    int
	accepted    map[string]int // by attempt
	refused     map[string]int // by status and code
	probes      int
	endings     int
	descendants int // tokens that had to end with their makers
	findings    map[class][]string
}

func newTally() *tally {
	return &tally{
		principals: make(map[string]int), accepted: make(map[string]int), refused: make(map[string]int),
		findings: make(map[class][]string),
	}
}

func (t *tally) count(what *int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*what++
}

func (t *tally) countIn(what map[string]int, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what[name]++
}

func (t *tally) countPrincipal(p *principal) {
	t.countIn(t.principals, p.mechanism())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deepest = max(t.deepest, p.depth)
}

func (t *tally) find(c class, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.findings[c] = append(t.findings[c], text)
}

// enoughRounds is a number of rounds in which each kind of principal occurs.
const enoughRounds = 20

// shown is how many findings of a class are reported in full.
const shown = 3

func (t *tally) report(test *testing.T) {
	test.Helper()
	test.Logf("%d principals: %s; up to %d makers deep", sum(t.principals), inWords(t.principals), t.deepest)
	test.Logf("%d attempts, %d accepted: %s", t.attempts, sum(t.accepted), inWords(t.accepted))
	test.Logf("%d refused: %s", sum(t.refused), inWords(t.refused))
	test.Logf("%d probes, %d endings, %d tokens that had to end with another", t.probes, t.endings, t.descendants)
	for _, c := range []class{narrowAdministrator, shortAdministrator, boundKey, pinnedRole, anotherApp, revokedMaker, refusedEnding, otherExcess} {
		found := t.findings[c]
		test.Logf("%d findings: %s", len(found), c)
		slices.Sort(found)
		for _, text := range found[:min(shown, len(found))] {
			test.Errorf("%s\n\t%s", c, text)
		}
	}
	few := len(t.principals) < 5 || sum(t.accepted) < 2**makingRounds || t.deepest < 4 || t.endings == 0 || t.descendants == 0
	if few && *makingRounds >= enoughRounds {
		test.Error("too little was made for this to say anything")
	}
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

func inWords(counts map[string]int) string {
	var texts []string
	for _, name := range sortedKeys(counts) {
		texts = append(texts, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(texts, ", ")
}
