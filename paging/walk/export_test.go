package walk

import (
	"iter"

	"github.com/tenantkit/tenantkit/envelope"
)

// Items returns the items of pages one by one, like All.
func Items[T any](pages iter.Seq2[envelope.List[T], error]) iter.Seq2[T, error] { return items(pages) }

// RetryAfter is tested on its own, with headers that no script sends.
var RetryAfter = retryAfter
