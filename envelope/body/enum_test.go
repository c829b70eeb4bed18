package body_test

import (
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/envelope/body"
)

type color string

func (color) Values() []string { return []string{"red", "blue"} }

// Read rejects strings that are not a value of an envelope.Enum.
func ExampleRead_enum() {
	for _, text := range []string{`{"color":"red","others":["blue"]}`, `{"color":"green"}`, `{"color":"red","others":["blue","green"]}`} {
		var v struct {
			Color  color   `json:"color"`
			Others []color `json:"others,omitempty"`
		}
		_, err := body.Read(request(strings.NewReader(text)), 1<<10, &v)
		fmt.Println(v.Color, v.Others, err)
	}
	// Output:
	// red [blue] <nil>
	//  [] auth: invalidArgument.body; "color" "must be one of red, blue"
	//  [] auth: invalidArgument.body; "others" "[1] must be one of red, blue"
}
