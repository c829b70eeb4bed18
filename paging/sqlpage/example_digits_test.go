package sqlpage_test

import (
	"fmt"

	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

func ExampleDigits() {
	fmt.Println(sqlpage.Digits("42"), sqlpage.Digits("042"), sqlpage.Digits("9223372036854775808"))
	grammar := &scope.Grammar{Identifier: sqlpage.Digits} // of the Guard
	_, err := grammar.Parse("object.read.job.42")
	fmt.Println(err)
	// Output:
	// true false false
	// <nil>
}
