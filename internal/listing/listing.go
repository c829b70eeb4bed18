// Package listing holds what lists, needs and mechanisms say of themselves to documents about routes. It is for
// packages that must not import each other.
package listing

import (
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// List is a list that can describe itself.
type List interface{ Describe() Description }

// Description is what clients may know of a list.
type Description struct {
	Key        any    // equal for all Lists with these Properties
	Object     string // object name of the items
	ExampleID  string // an _id, or ""
	Default    int    // items of a page
	Max        int    // the most items of a page
	Count      bool   // whether clients may ask for the total
	Properties []Property
}

// CheckID returns an error if no scope chain of a grammar can name the ExampleID.
func (d Description) CheckID(grammar *scope.Grammar) error {
	if d.ExampleID == "" {
		return nil
	}
	if _, err := grammar.Parse("object.read." + d.Object + "." + d.ExampleID); err != nil {
		return fmt.Errorf("Guard.Scopes rejects an _id such as %s: set Guard.Scopes to a scope.Grammar with an Identifier for it, such as sqlpage.Digits: %w", d.ExampleID, err)
	}
	return nil
}

// Property is a property that clients may read.
type Property struct {
	Path   string
	Type   string // any, string, integer, number, boolean or date
	Filter bool
	Sort   bool
	Null   bool
	Values []string // all that it has, or nil
	List   List     // of a list property, else nil
}

// Need is what an auth.Need asks for.
type Need struct {
	Public     bool          // no mechanism runs
	Optional   bool          // a request without a credential is admitted, too
	Operation  string        // of Allow and Some, with its placeholders; "": any scope will do
	Part       bool          // of Some: any part of the Operation will do
	Mechanisms []string      // of By; nil: all
	Fresh      time.Duration // 0: no matter how old the proof is
	FreshFor   []string      // the mechanisms that Fresh is asked of; nil: all
}

// Scheme is one way in which a request carries a credential. Authorization, Headers and Cookie are
// alternatives: set one.
type Scheme struct {
	Name          string   // in the document; "": that of the mechanism
	Authorization string   // the scheme in the Authorization header, like bearer
	Format        string   // of what follows the scheme, like JWT; may be empty
	Headers       []string // all of them are required
	Cookie        string   // {org} stands for the org's code
	Description   string   // for clients; may use Markdown
}
