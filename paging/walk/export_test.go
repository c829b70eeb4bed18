package walk

import (
	"encoding/json"
	"iter"

	"github.com/tenantkit/tenantkit/envelope"
)

// Items gives out pages item by item, as All does.
func Items[T any](pages iter.Seq2[envelope.List[T], error]) iter.Seq2[T, error] { return items(pages) }

// EndsOf is tested apart, against encoding/json.
func EndsOf(page []byte) (first, last json.RawMessage) { return endsOf(string(page)) }

// RetryAfter is tested apart, on headers that no script has.
var RetryAfter = retryAfter
