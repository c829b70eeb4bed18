package scope

import "errors"

// Vet reports, for those who write chains (minting a token, storing a role),
// everything that is wrong with a list: what does not parse, and what would
// silently grant nothing, because the grammar does not know its root or
// because it can match nothing, such as a property of objects to be deleted.
// The error joins one *SyntaxError for each such chain, or is one for a list of
// more than 1024.
func (g *Grammar) Vet(chains ...string) error {
	if len(chains) > maxChains {
		return tooMany()
	}
	var problems []error
	for i, chain := range chains {
		var s shape
		err := g.parseKnown(chain, &s)
		if err == nil {
			err = s.vet()
		}
		if err != nil {
			err.Index = i
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// vet tells where s, if it can match nothing, goes beyond what can.
func (s *shape) vet() *SyntaxError {
	if !s.matchless() {
		return nil
	}
	whole := *s
	whole.rest = ""
	expected, hint := "no property", "an object is deleted whole: "
	if s.column == columnCreate {
		whole.head[1] = segment{}
		expected, hint = "no identifier", "nothing has an identifier before it is created: "
	}
	p := parser{text: s.text()}
	return p.fail(len(whole.text())+1, expected, hint+fold(whole.text()))
}
