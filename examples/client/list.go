package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

func (c cli) list() *cobra.Command {
	var o listOptions
	return c.sending("list", cobra.ExactArgs(1), o.define, func(ctx context.Context, to *connection, args []string) error {
		return c.walk(ctx, to, &o, args[0])
	})
}

func (c cli) walk(ctx context.Context, to *connection, o *listOptions, path string) error {
	list, err := o.list(to, path)
	if err != nil {
		return err
	}
	n, err := c.print(list.All(ctx), c.tabular(to))
	if err == nil && !o.all && o.max == 0 && o.limit == 0 && n == someItems {
		fmt.Fprintf(c.errs, "client: these are the first %d items; --all prints all of them\n", n)
	}
	return err
}

// tabular reports whether to print items as a table.
func (c cli) tabular(to *connection) bool { return c.screen && !to.json && !c.query.given() }

type listOptions struct {
	all                              bool
	where, sort, paths, resume, rest string
	limit, max                       uint
}

const someItems = 100

func (o *listOptions) define(flags *pflag.FlagSet) {
	flags.BoolVar(&o.all, "all", false, "print all items, not only the first 100")
	flags.StringVar(&o.where, "where", "", "`JSON` of a filter: {\"c_likes\":{\"$gte\":5}}")
	flags.StringVar(&o.sort, "sort", "", "`JSON` of an order: {\"c_likes\":-1}; or one property, ascending")
	flags.StringVar(&o.paths, "paths", "", "`properties` to print beside _id and object: c_text,c_meta.lang")
	flags.UintVar(&o.limit, "limit", 0, "`items` in each page (default: the server decides)")
	flags.UintVar(&o.max, "max", 0, "`items` to print in all (default 100, or all with --all)")
	flags.StringVar(&o.resume, "resume", "", "`position` to continue from, as a failed walk printed it; give the same --sort")
	flags.StringVar(&o.rest, "rest", "", "list `property` to print, of the object at PATH; its name stands in front of each list argument")
}

func (o *listOptions) list(to *connection, path string) (*walk.List[item], error) {
	list := &walk.List[item]{Client: to.client(), URL: to.at(path), Property: o.rest, Max: int(o.max), After: o.resume}
	if !o.all {
		list.Max = int(cmp.Or(o.max, o.limit, someItems))
	}
	list.Query.Limit = int(o.limit)
	if o.paths != "" {
		list.Query.Paths = strings.Split(o.paths, ",")
	}
	var err error
	if list.Query.Sort, err = parseSort(o.sort); err != nil {
		return nil, usageError(err.Error())
	}
	if o.where != "" {
		if list.Query.Where, err = paging.ParseFilter(o.where); err != nil {
			return nil, usageError(err.Error())
		}
	}
	return list, nil
}

// parseSort reads an object such as {"c_likes":-1,"c_sent":1}, whose order counts,
// or the name of one property.
func parseSort(text string) (keys []paging.Key, err error) {
	switch {
	case text == "":
		return nil, nil
	case !strings.HasPrefix(text, "{"):
		return []paging.Key{{Path: text}}, nil
	case !json.Valid([]byte(text)):
		return nil, errors.New("sort: not JSON")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	_, _ = decoder.Token() // the opening brace
	for decoder.More() {
		name, _ := decoder.Token()
		var direction int
		if err := decoder.Decode(&direction); err != nil || direction != 1 && direction != -1 {
			return nil, fmt.Errorf("sort: %s must be 1 or -1", name)
		}
		keys = append(keys, paging.Key{Path: name.(string), Desc: direction < 0})
	}
	return keys, nil
}

// item is an item of a list, as the server wrote it.
type item struct{ json.RawMessage }

func (i item) ItemID() string {
	var known envelope.Item
	_ = json.Unmarshal(i.RawMessage, &known) // without an id, the walk fails
	return known.ID
}

const progressEvery = 100 * time.Millisecond

// print writes one item per line, or a table, and returns how many it has written. If
// standard error is a terminal, it also shows that number there.
func (c cli) print(items iter.Seq2[item, error], asTable bool) (n int, err error) {
	shown, rows := time.Now(), table{c: c}
	write := c.printLine
	if asTable {
		write = rows.add
	}
	defer func() {
		err = errors.Join(err, rows.flush()) // what came before an error, too
		c.progress(n, "\n")
	}()
	for i, err := range items {
		if err == nil {
			err = write(i.RawMessage)
		}
		if err != nil {
			return n, err
		}
		n++
		if time.Since(shown) >= progressEvery {
			c.progress(n, "\r")
			shown = time.Now()
		}
	}
	return n, nil
}

func (c cli) printLine(text []byte) error {
	if c.query.given() {
		return c.printQueried(text)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	line.WriteByte('\n')
	_, err := c.out.Write(line.Bytes())
	return err
}

// progress shows a number. With "\r" the next number overwrites it.
func (c cli) progress(n int, end string) {
	if c.terminal {
		fmt.Fprintf(c.errs, "\x1b[K%d items%s", n, end)
	}
}
