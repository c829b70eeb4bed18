package scope_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/scope"
)

func Example() {
	// What a token claims, and what the subject's role adds.
	token, err := scope.Compile("token", "object.read.c_note", "object.update.c_note.*.title")
	if err != nil {
		fmt.Println(err) // a token is refused
		return
	}
	role, _ := scope.Compile("role auditor", "admin.read")
	set := token.Union(role)

	const note = "5f1e0c3a9b7d4e2f8a6c0b11"
	fmt.Println(set.Allows(scope.Object(scope.Read, "c_note", note, "")))
	fmt.Println(set.Allows(scope.Object(scope.Update, "c_note", note, "title")))
	fmt.Println(set.Allows(scope.Object(scope.Update, "c_note", note, "body")))
	fmt.Println(set.Allows(scope.Admin(scope.Read)))
	// Output:
	// true
	// true
	// false
	// true
}

func ExampleGrammar_Parse() {
	var standard *scope.Grammar
	chain, _ := standard.Parse("script.execute.route.c_report")
	fmt.Println(chain)

	_, err := standard.Parse("object.read.account.name")
	fmt.Println(err)
	// Output:
	// script.route.c_report
	// scope: chain 0, segment 4: got "name", expected an identifier or *; an identifier or * stands before a property: object.read.account.*.name
}

func ExampleSyntaxError_Reason() {
	err := scope.Vet("object.raed.c_note")
	if problem, ok := errors.AsType[*scope.SyntaxError](err); ok {
		fmt.Println(problem.Reason())
	}
	// Output: segment 2: got "raed", expected create, read, update, delete or *
}

func ExampleCompile() {
	set, err := scope.Compile("token", "object.read.c_note", "deployment.create", "billing.read")

	// Show the index and the reason of each chain that does not parse.
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if e, ok := errors.AsType[*scope.SyntaxError](err); ok {
				fmt.Printf("chain %d: %s\n", e.Index, e.Expected)
			}
		}
	}
	// A role keeps the rest.
	for chain, source := range set.Chains() {
		fmt.Println(chain, "from", source)
	}
	// Output:
	// chain 1: execute or *; deployments themselves are objects: object.create.deployment
	// object.read.c_note from token
}

func ExampleVet() {
	err := scope.Vet("object.read.c_note", "billing.read", "object.delete.c_note.*.title")
	fmt.Println(err)
	// Output:
	// scope: chain 1, segment 1: got "billing", expected a root of the grammar
	// scope: chain 2, segment 5: got "title", expected no property; an object is deleted whole: object.delete.c_note
}

func ExampleParseNeed() {
	set, _ := scope.Compile("token", "object.read.c_note")
	need, err := scope.ParseNeed("object.read.c_note.*.title")
	fmt.Println(set.Allows(need), err)
	// Output: true <nil>
}

func ExampleObject() {
	// A value that no object can have gives a need that nothing allows.
	need := scope.Object(scope.Read, "c_note", "../admin", "")
	fmt.Println(need.Valid(), scope.Unscoped().Allows(need))

	fmt.Println(scope.Object(scope.Read, "c_note", "", "title"))
	// Output:
	// false false
	// object.read.c_note.*.title
}

func ExampleGrammar_At() {
	var grammar scope.Grammar
	notes, _ := grammar.ParseNeed("object.read.c_note") // once
	fmt.Println(grammar.At(notes, "5f1e0c3a9b7d4e2f8a6c0b11"))
	fmt.Println(grammar.At(notes, "*").Valid())
	// Output:
	// object.read.c_note.5f1e0c3a9b7d4e2f8a6c0b11
	// false
}

func ExampleNeed_Valid() {
	for _, id := range []string{"5f1e0c3a9b7d4e2f8a6c0b11", "5f1e0c3a9b7d4e2f8a6c0b11.title", "*"} {
		fmt.Println(scope.Object(scope.Read, "c_note", id, "").Valid())
	}
	// Output:
	// true
	// false
	// false
}

func ExampleAdmin() {
	set, _ := scope.Compile("token", "admin.read")
	fmt.Println(set.Allows(scope.Admin(scope.Read)), set.Allows(scope.Admin(scope.Update)))
	// Output: true false
}

func ExampleUnscoped() {
	session := scope.Unscoped()
	var nothing scope.Set
	fmt.Println(session.Allows(scope.Admin(scope.Read)), nothing.Allows(scope.Admin(scope.Read)))
	// Output: true false
}

func ExampleSet_Union() {
	claim, _ := scope.Compile("token", "object.read.c_note")
	role, _ := scope.Compile("role editor", "object.update.c_note")
	for chain, source := range claim.Union(role).Chains() {
		fmt.Println(chain, "from", source)
	}
	// Output:
	// object.read.c_note from token
	// object.update.c_note from role editor
}

func ExampleSet_Intersect() {
	role, _ := scope.Compile("role reader", "object.read")
	key, _ := scope.Compile("credential", "object.*.c_note", "admin")
	for chain, source := range role.Intersect(key).Chains() {
		fmt.Println(chain, "of", source)
	}
	// Output: object.read.c_note of role reader and credential
}

func ExampleSet_Overlaps() {
	set, _ := scope.Compile("token", "object.read.c_note.5f1e0c3a9b7d4e2f8a6c0b11")
	list := scope.Object(scope.Read, "c_note", "", "")
	fmt.Println(set.Allows(list), set.Overlaps(list))
	// Output: false true
}

func ExampleSet_Missing() {
	minter, _ := scope.Compile("minter", "object.read.c_note", "view")
	asked, _ := scope.Compile("asked", "object.read.c_note.*.title", "object.read", "view.execute.c_overdue")
	fmt.Println(minter.Missing(asked))
	// Output: [object.read]
}

func ExampleSet_Explain() {
	set, _ := scope.Compile("token", "object.read.c_note.*.title", "script.route")
	reason := set.Explain(scope.Object(scope.Read, "c_note", "", "body"))
	segments := strings.Split(reason.Chain, ".")
	fmt.Printf("%t: %s of the %s stops at %q\n", reason.Allowed, reason.Chain, reason.Source, segments[reason.Segment])
	// Output: false: object.read.c_note.*.title of the token stops at "title"
}

func ExampleSet_Unknown() {
	set, err := scope.Compile("token", "object.read", "billing.read.c_invoice")
	fmt.Println(err)
	for chain, source := range set.Unknown() {
		fmt.Println("dropped:", chain, "from", source)
	}
	// Output:
	// <nil>
	// dropped: billing.read.c_invoice from token
}

func ExampleSet_On() {
	set, _ := scope.Compile("token", "object.read.c_note.*.title", "object.read.c_note.5f1e0c3a9b7d4e2f8a6c0b11")
	grant := set.On(scope.Read, "c_note")

	_, all := grant.IDs()
	fmt.Println("every instance:", all)
	fmt.Println("filter by title:", grant.Property("title"), "by body:", grant.Property("body"))

	keep := grant.Of("5f1e0c3a9b7d4e2f8a6c0b11")
	other := grant.Of("5f1e0c3a9b7d4e2f8a6c0b12")
	fmt.Println("body of one:", keep("body"), "of another:", other("body"))
	// Output:
	// every instance: true
	// filter by title: true by body: false
	// body of one: true of another: false
}

// Check one property of one instance, and name it in a refusal.
func ExamplePart_Need() {
	set, _ := scope.Compile("token", "object.update.c_note.*.title")
	grant := set.On(scope.Update, "c_note")
	for _, path := range []string{"title", "body", "no path"} {
		need := grant.Need("5f1e0c3a9b7d4e2f8a6c0b11", path)
		fmt.Println(set.Allows(need), need)
	}
	// Output:
	// true object.update.c_note.5f1e0c3a9b7d4e2f8a6c0b11.title
	// false object.update.c_note.5f1e0c3a9b7d4e2f8a6c0b11.body
	// false
}

func ExampleGrammar() {
	grammar := &scope.Grammar{Identifier: func(s string) bool { return strings.Trim(s, "0123456789") == "" }}
	set, _ := grammar.Compile("token", "object.read.invoice.1071")
	fmt.Println(set.Allows(grammar.Object(scope.Read, "invoice", "1071", "")))
	// Output: true
}

func ExampleLevel() {
	var claims struct {
		Grant scope.Level `json:"service/gnt,omitzero"`
	}
	_ = json.Unmarshal([]byte(`{"service/gnt":"update"}`), &claims)
	text, _ := json.Marshal(claims)
	fmt.Println(claims.Grant >= scope.LevelRead, string(text))
	// Output: true {"service/gnt":6}
}
