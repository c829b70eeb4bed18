package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/itchyny/gojq"
)

// query is an expression of jq, which says what of a reply to print.
type query struct{ code *gojq.Code } // nil: print all

// given reports whether there is a query. A cli that was not made by run has none.
func (q *query) given() bool { return q != nil && q.code != nil }

func (q *query) set(text string) error {
	parsed, err := gojq.Parse(text)
	if err == nil {
		q.code, err = gojq.Compile(parsed)
	}
	return err
}

// printQueried prints what the query finds in JSON, one line each. A string has no quotes, as with gh and
// jq -r; on a terminal it is safe to look at.
func (c cli) printQueried(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // as it was sent
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	for found := c.query.code.Run(value); ; {
		v, more := found.Next()
		if !more {
			return nil
		}
		if err, failed := v.(error); failed {
			return fmt.Errorf("--query: %w", err)
		}
		line, isText := v.(string)
		if !isText {
			encoded, err := gojq.Marshal(v)
			if err != nil {
				return err
			}
			line = string(encoded)
		}
		if err := c.printText(line); err != nil {
			return err
		}
	}
}
