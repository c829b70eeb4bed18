package sqlpage

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/paging"
)

// column is a property that has its own column.
type column struct {
	Column
	name    string // quoted
	path    string
	dialect Dialect
}

func (c column) key() key {
	k := key{expression: c.name, nullable: !c.NotNull}
	if c.Storage == Enum && c.dialect == PostgreSQL {
		k.expression = c.name + "::text" // an unknown label would be an error
	}
	switch {
	case c.isText():
		k.bytewise = bytewise[c.dialect]
	case c.Type == paging.Date && c.Storage == 0:
		// Clients see milliseconds, and a cursor has what they see. So rows of one
		// millisecond must be in the order of the next key, not of the microseconds.
		// Without AT TIME ZONE, PostgreSQL would refuse an index on the expression.
		k.expression = "date_trunc('milliseconds', " + c.name + " AT TIME ZONE 'UTC')"
	}
	return k
}

// isText reports whether the column is compared as a text.
func (c column) isText() bool {
	switch {
	case c.Storage == BigInt:
		return false
	case c.dialect == PostgreSQL:
		return c.Type == paging.String && c.Storage != UUID
	}
	return c.Type == paging.String || c.Type == paging.Date
}

// rank returns the rank of the column's type in a sort.
func (c column) rank() int {
	switch c.Type {
	case paging.Boolean:
		return rankTrue
	case paging.Integer, paging.Number:
		return rankNumber
	}
	return rankText
}

func (c column) compare(s *statement, op paging.Op, value any) string {
	return c.condition(s, op, value, s.bind)
}

func (c column) condition(s *statement, op paging.Op, value any, bind func(argument) string) string {
	a, ok := c.argument(s, value)
	if !ok {
		n, isNumber := value.(json.Number)
		if !isNumber || c.Type != paging.Integer || op == paging.OpEq {
			return "FALSE"
		}
		op, a = amongIntegers(op, n)
	}
	return c.key().String() + symbols[op] + bind(a)
}

var symbols = [...]string{
	paging.OpEq: " = ", paging.OpGt: " > ", paging.OpGte: " >= ", paging.OpLt: " < ", paging.OpLte: " <= ",
}

func (c column) in(s *statement, values []any) string {
	var list []string
	for _, value := range values {
		if a, ok := c.argument(s, value); ok {
			list = append(list, s.bind(a))
		}
	}
	if list == nil {
		return "FALSE"
	}
	return c.key().String() + " IN " + row(list)
}

func (c column) isNull() string { return c.key().expression + " IS NULL" }
func (c column) exists() string { return c.key().expression + " IS NOT NULL" }
func (c column) keys() []key    { return []key{c.key()} }

func (c column) at(s *statement, desc bool, value any) []position {
	switch {
	case value == nil && desc:
		return []position{{equal: c.isNull()}}
	case value == nil:
		return []position{{c.isNull(), []string{c.exists()}}}
	}
	p := position{equal: c.condition(s, paging.OpEq, value, s.bindOnce)}
	switch rank := rankOf(value); {
	case rank == c.rank() || rank == rankFalse && c.Type == paging.Boolean: // the value has the column's type
		p.beyond = append(p.beyond, c.condition(s, beyond(desc), value, s.bindOnce))
	case (rank > c.rank()) == desc:
		p.beyond = append(p.beyond, c.exists())
	}
	if desc && !c.NotNull {
		p.beyond = append(p.beyond, c.isNull())
	}
	return []position{p}
}

// argument converts value to the column's type. ok is false if no row can equal
// value.
func (c column) argument(s *statement, value any) (a argument, ok bool) {
	switch v := value.(type) {
	case bool:
		return c.boolean(v), c.Type == paging.Boolean
	case json.Number:
		return c.number(v)
	case string:
		return c.text(s, v)
	}
	return argument{}, false
}

func (c column) text(s *statement, v string) (a argument, ok bool) {
	switch {
	case c.Type == paging.Date:
		t, err := time.Parse(paging.DateLayout, v)
		if err != nil { // Schema.Parse rejects such texts
			s.check(fmt.Errorf("sqlpage: %s is compared with a text that is no date", c.path))
		}
		return c.date(t), err == nil
	// All UUIDs in the form that PostgreSQL writes have their hyphens at the same places, and 0-9 are
	// before a-f in ASCII. So their order is the order of the bytes, by which PostgreSQL sorts uuid.
	case c.Type != paging.String || c.Storage == UUID && !ascii.IsUUID(v, ascii.LowerHex) || c.Storage == BigInt && !Digits(v):
		return argument{}, false
	case c.Storage == BigInt:
		n, _ := strconv.ParseInt(v, 10, 64) // Digits
		return argument{n, "bigint"}, true
	case c.Storage == UUID:
		return argument{v, "uuid"}, true
	}
	return argument{v, "text"}, true
}

// date returns a date to compare the column with. PostgreSQL gets a time.Time, because
// it cannot read a text of the year 0. The result must not depend on the session's time
// zone. PostgreSQL compares date with timestamp, and uses an index for it.
func (c column) date(t time.Time) argument {
	switch {
	case c.dialect == SQLite && c.Storage == Day && t.Equal(t.Truncate(24*time.Hour)):
		return argument{t.Format(time.DateOnly), "text"} // it is before the other times of the day
	case c.dialect == SQLite:
		return argument{t.Format(paging.DateLayout), "text"}
	case c.Storage == Milliseconds:
		return argument{t, "timestamptz"}
	}
	return argument{t, "timestamptz AT TIME ZONE 'UTC'"}
}

func (c column) boolean(v bool) argument {
	switch {
	case c.dialect == PostgreSQL:
		return argument{v, "boolean"}
	case v:
		return argument{int64(1), ""}
	}
	return argument{int64(0), ""}
}

func (c column) number(n json.Number) (argument, bool) {
	switch {
	case c.Type == paging.Integer:
		i, ok := asInt64(n)
		return argument{i, "bigint"}, ok
	case c.Type != paging.Number:
		return argument{}, false
	case c.Storage == Double:
		return argument{asFloat64(n), "double precision"}, true
	}
	return driverNumber(c.dialect, n), true
}

// driverNumber returns n as a driver stores it: numeric in PostgreSQL, int64 or
// float64 in SQLite.
func driverNumber(d Dialect, n json.Number) argument {
	if d == PostgreSQL {
		return argument{string(n), "numeric"}
	}
	if i, ok := asInt64(n); ok {
		return argument{i, ""}
	}
	return argument{asFloat64(n), ""}
}

// asInt64 returns a number as an int64. ok is false if the number is no int64.
func asInt64(n json.Number) (i int64, ok bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true // the usual form of a number
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// asFloat64 returns the nearest float64, which may be an infinity.
func asFloat64(n json.Number) float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

// amongIntegers returns the comparison of integers that is equivalent to one with n, which is a
// fraction or outside int64: greater than 5 for greater than 5.5.
func amongIntegers(op paging.Op, n json.Number) (paging.Op, argument) {
	r, _ := new(big.Rat).SetString(string(n)) // filters have only numbers
	floor := new(big.Int).Div(r.Num(), r.Denom())
	greater := op == paging.OpGt || op == paging.OpGte
	switch {
	case !floor.IsInt64() && r.Sign() < 0 && greater:
		return paging.OpGte, argument{int64(math.MinInt64), "bigint"}
	case !floor.IsInt64() && r.Sign() < 0:
		return paging.OpLt, argument{int64(math.MinInt64), "bigint"}
	case !floor.IsInt64():
		floor.SetInt64(math.MaxInt64)
	}
	if greater {
		return paging.OpGt, argument{floor.Int64(), "bigint"}
	}
	return paging.OpLte, argument{floor.Int64(), "bigint"}
}
