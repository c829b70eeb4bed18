package body_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

func ExampleHandle() {
	type order struct {
		Article string `json:"article"`
		Count   int    `json:"count,omitempty"`
	}
	handler := body.Handle(func(_ http.ResponseWriter, r *http.Request, ask order) (envelope.Result[string], error) {
		if ask.Article != "tea" {
			return envelope.Result[string]{}, auth.ErrNotFound
		}
		return envelope.Result[string]{Data: fmt.Sprintf("%d × %s", max(1, ask.Count), ask.Article)}, nil
	})
	for _, text := range []string{`{"article":"tea","count":2}`, `{"article":"ink"}`, `{"article":1,"amount":2}`} {
		w := httptest.NewRecorder()
		handler(w, request(strings.NewReader(text)))
		var reply envelope.Result[string]
		fault, _ := errors.AsType[*envelope.Fault](envelope.Decode(w.Body, 1<<10, &reply))
		fmt.Println(w.Code, reply.Data, fault)
	}
	// Output:
	// 200 2 × tea <nil>
	// 404  fault 404 notFound.unspecified: Not found.
	// 400  fault 400 invalidArgument.body: The body is not valid; at article: must be a string; at amount: unknown field
}

// A PATCH must tell null from absent.
func ExampleRead() {
	type change struct {
		Article *string `json:"article"`
		Note    *string `json:"note"` // null removes the note
	}
	handler := body.None(func(_ http.ResponseWriter, r *http.Request) (map[string]bool, error) {
		var ask change
		named, err := body.Read(r, 64<<10, &ask)
		return map[string]bool{"article": slices.Contains(named, "article"), "note": slices.Contains(named, "note")}, err
	})
	w := httptest.NewRecorder()
	handler(w, request(strings.NewReader(`{"note":null}`)))
	fmt.Println(w.Body)
	// Output: {"article":false,"note":true}
}

// A server that learns the properties of its objects while it runs reads them by a
// Form, and adds Kinds of its own.
func ExampleForm() {
	color := body.Kind{Schema: map[string]any{"enum": []string{"red", "green"}}, Read: func(text string) (any, string) {
		if text == `"red"` || text == `"green"` {
			return text[1 : len(text)-1], ""
		}
		return nil, "must be red or green"
	}}
	form := body.Form{
		{Path: "name", Kind: body.String, Required: true},
		{Path: "size.width", Kind: body.Integer},
		{Path: "size.exact", Kind: body.Boolean},
		{Path: "tags", Kind: body.Strings, Null: true},
		{Path: "extra", Kind: body.Object},
		{Path: "color", Kind: color},
	}
	values, named, err := form.Parse(`{"name":"box","size":{"width":3},"tags":null,"color":"red"}`)
	fmt.Println(values, named, err)

	_, _, err = form.Parse(`{"size":{"width":3.5},"color":"blue","colour":"red"}`)
	if refused, ok := err.(*auth.Error); ok {
		for _, child := range refused.Faults {
			fmt.Println(child.Path, child.Reason)
		}
	}
	// Output:
	// map[color:red name:box size.width:3 tags:<nil>] [name size.width tags color] <nil>
	// size.width must be an integer of 64 bits
	// color must be red or green
	// colour unknown field
	// name is required
}

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

// request returns a request with a JSON body.
func request(body io.Reader) *http.Request {
	r := httptest.NewRequest("POST", "/", body)
	r.Header.Set("Content-Type", "application/json")
	return r
}
