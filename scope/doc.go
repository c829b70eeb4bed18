// Package scope decides what a caller may do from scope chains. A chain is a
// dot-separated text such as object.read.c_note.*.title, in the language of section 5.5
// of the interface. The package knows nothing of tokens, HTTP or storage. The caller
// compiles the chains to a Set, and asks the Set about a Need.
//
// # Grants and needs
//
// A chain is a grant. It covers every need that begins with it, segment by segment:
//
//   - * matches any one segment; trailing stars have no effect and are cut;
//   - x also matches x#t, which is x with a type; x#t does not match x;
//   - every other segment matches only itself, byte by byte, letter case included.
//
// So object.read.c_note permits reading every c_note with all its properties, and
// object.read.c_note.*.title permits reading one property of each. No verb implies
// another, and a property does not grant the object it belongs to. One chain must cover
// the whole need; several chains do not add up.
//
// With a property, a chain on read shows the property, and one on update sets and unsets
// it. A chain on create permits creating instances that have only such properties. A
// chain on delete with a property can match nothing, because an object is deleted whole.
//
// The empty chain covers everything. On the wire it is the empty text. In a flag or a
// variable it is written as *, because an empty text there means that nothing was set. A
// list without chains grants nothing, and so does the zero Set. The zero Need is never
// permitted.
//
// # The standard grammar
//
//	object . create|read|update|delete|* . name|* . identifier|* . property . …
//	script . route . identifier          script . runner
//	view . execute|* . identifier        deployment . execute|* . identifier
//	admin . read|update
//
// A chain may stop at any point. Object names are 1 to 40 of [a-z0-9_-]. Properties are 1
// to 40 of [A-Za-z0-9_-], with [] after them for arrays. Both may be followed by # and a
// type in the same letters. The identifier of an object is 24 hexadecimal digits or a
// UUID. Routes, views and deployments may also have names of 1 to 40 of [A-Za-z0-9_-],
// but no route is called route or runner. A star stands for a whole segment. It cannot
// stand for a property or a root.
//
// script.execute and the chains that begin with it are aliases, and so is script.*.x.
// script.execute is script, script.execute.route.x and script.*.x are script.route.x, and
// script.execute.runner is script.runner. Parsing replaces an alias by the canonical
// chain.
//
// A chain has at most 512 bytes and 32 segments, a list at most 1024 chains. A Grammar
// has identifiers of another form.
//
// # Choosing
//
// Set.Allows reports whether a whole operation is permitted, and Set.Overlaps whether any
// part of it is. Set.On gives a list handler what it needs to narrow its query and its
// reply. Set.Explain gives the reason, for a log or an administrator. Vet checks chains
// before they are stored or put into a token. Set.Missing returns what one set permits
// beyond another, so that nobody grants more than they have.
//
// # What is not checked
//
// A scope only limits. The caller must decide whether the subject itself has access to an
// object, and must check the access Levels.
//
// # Compatibility
//
// Grammar, Reason and SyntaxError may gain fields: write them with field names. A
// refusal stays a *SyntaxError. Its text may change, and so may Expected.
package scope
