package scope

// standard is the grammar of the functions that have no receiver.
var standard *Grammar

// Parse is Grammar.Parse of the standard grammar.
func Parse(s string) (Chain, error) { return standard.Parse(s) }

// MustParse is Parse for chains written in the program; it panics on an error.
func MustParse(s string) Chain {
	c, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return c
}

// ParseNeed is Grammar.ParseNeed of the standard grammar.
func ParseNeed(s string) (Need, error) { return standard.ParseNeed(s) }

// Compile is Grammar.Compile of the standard grammar.
func Compile(source string, chains ...string) (Set, error) {
	return standard.Compile(source, chains...)
}

// Vet is Grammar.Vet of the standard grammar.
func Vet(chains ...string) error { return standard.Vet(chains...) }
