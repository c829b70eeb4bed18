package walk

import (
	"iter"

	"github.com/tenantkit/tenantkit/envelope"
)

// Items gives out pages item by item, as All does.
func Items[T any](pages iter.Seq2[envelope.List[T], error]) iter.Seq2[T, error] { return items(pages) }
