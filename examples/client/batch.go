package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/scope"
)

// maxLine is more than a list of 1024 chains takes, however it is escaped.
const maxLine = 8 << 20

// verdict is a line of output: a decision, or why there is none.
type verdict struct {
	Allowed *bool  `json:"allowed,omitempty"`
	Error   string `json:"error,omitempty"`
}

// scopeBatch answers each line of the input with one line, in order. What is
// wrong with a line is its answer, and the next one follows.
func (c cli) scopeBatch(ctx context.Context) error {
	in, out := bufio.NewReaderSize(c.in, 64<<10), bufio.NewWriter(c.out)
	lines := lineReader{in: in}
	answers := json.NewEncoder(out)
	answers.SetEscapeHTML(false)
	for ctx.Err() == nil {
		line, err := lines.next()
		if err == io.EOF {
			return out.Flush()
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return errors.Join(out.Flush(), err)
		}
		if err := answers.Encode(verdictOn(line, err)); err != nil {
			return err
		}
		// Whoever waits for this answer before asking again must get it.
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return errors.Join(out.Flush(), ctx.Err())
}

func verdictOn(line []byte, err error) verdict {
	var allowed bool
	if err == nil {
		allowed, err = decideLine(line)
	}
	if err != nil {
		return verdict{Error: err.Error()}
	}
	return verdict{Allowed: &allowed}
}

func decideLine(line []byte) (bool, error) {
	q, err := readQuestion(line)
	if err != nil {
		return false, err
	}
	set, err := compile(q.grants)
	if err != nil {
		return false, fmt.Errorf("grants: %w", err)
	}
	need, err := scope.ParseNeed(q.need)
	if err != nil {
		return false, fmt.Errorf("need: %w", err)
	}
	return set.Allows(need), nil
}

// question is a line of input. Its chains stand as on the wire: "" is
// everything, and a list that is empty or missing grants nothing.
type question struct {
	grants []string
	need   string
}

// readQuestion is strict, as a line that is misread could be allowed: the names
// are exact and stand once, others are refused, and so is null, which
// encoding/json would take for the empty chain.
func readQuestion(line []byte) (q question, err error) {
	members, err := readMembers(line)
	if err != nil {
		return q, err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		ok := false
		switch name {
		case "grants":
			q.grants, ok = readTexts(members[name])
		case "need":
			q.need, ok = readText(members[name])
		}
		if !ok {
			return q, fmt.Errorf("member %q is unknown, or not of its type", name)
		}
	}
	if _, ok := members["need"]; !ok {
		return q, errors.New("no need")
	}
	return q, nil
}

// readMembers reads one JSON object in UTF-8, whose members have different
// names, and nothing else.
func readMembers(line []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("not UTF-8")
	}
	// All of it at once: the decoder that comes next stops where the object ends.
	if err := json.Unmarshal(line, new(json.RawMessage)); err != nil {
		return nil, fmt.Errorf("malformed JSON: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	if brace, err := decoder.Token(); err != nil || brace != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	members := make(map[string]json.RawMessage, 2)
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		if _, twice := members[name.(string)]; twice {
			return nil, fmt.Errorf("member %q stands twice", name)
		}
		members[name.(string)] = value
	}
	return members, nil
}

func readTexts(value json.RawMessage) (texts []string, ok bool) {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || list == nil {
		return nil, false
	}
	for _, value := range list {
		text, ok := readText(value)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

func readText(value json.RawMessage) (text string, ok bool) {
	ok = value[0] == '"' && json.Unmarshal(value, &text) == nil
	return text, ok
}

var errLongLine = fmt.Errorf("a line of more than %d bytes", maxLine)

// lineReader reads lines of any length, and keeps no more than maxLine of one.
type lineReader struct {
	in   *bufio.Reader
	line []byte
}

// next returns the next line, which is good until the one after it is asked
// for; errLongLine for one that is too long; io.EOF behind the last.
func (r *lineReader) next() ([]byte, error) {
	r.line = r.line[:0]
	long, any := false, false
	for {
		part, err := r.in.ReadSlice('\n')
		any = any || len(part) > 0
		if long = long || len(r.line)+len(part) > maxLine; !long {
			r.line = append(r.line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && any: // the last line, without its end
		case err != nil:
			return nil, err
		}
		if long {
			return nil, errLongLine
		}
		return r.line, nil
	}
}
