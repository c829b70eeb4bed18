package envelope_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
)

type color string

func (color) Values() []string { return []string{"red", "blue"} }

func ExampleEnum() {
	for _, body := range []string{`{"color":"red","others":["blue"]}`, `{"color":"green"}`, `{"color":"red","others":["blue","green"]}`} {
		r, err := http.NewRequest("POST", "/", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Content-Type", "application/json")
		var v struct {
			Color  color   `json:"color"`
			Others []color `json:"others,omitempty"`
		}
		_, err = envelope.Read(r, 1<<10, &v)
		fmt.Println(v.Color, v.Others, err)
	}
	// Output:
	// red [blue] <nil>
	//  [] envelope: fault 400 invalidArgument.body: The body is not valid; at color: must be one of red, blue
	//  [] envelope: fault 400 invalidArgument.body: The body is not valid; at others: [1] must be one of red, blue
}
