package walk

import (
	"encoding/json"
	"iter"

	"github.com/tenantkit/tenantkit/envelope"
)

// Items returns the items of pages one by one, like All.
func Items[T any](pages iter.Seq2[envelope.List[T], error]) iter.Seq2[T, error] { return items(pages) }

// FirstAndLast is tested on its own, against encoding/json.
func FirstAndLast(page []byte) (first, last json.RawMessage) { return firstAndLast(string(page)) }

// RetryAfter is tested on its own, with headers that no script sends.
var RetryAfter = retryAfter
