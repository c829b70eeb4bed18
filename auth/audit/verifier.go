package audit

import "fmt"

// Broken says at which entry a chain does not hold.
type Broken struct {
	N      int64
	Reason string
}

func (e *Broken) Error() string { return fmt.Sprintf("audit: row %d: %s", e.N, e.Reason) }

// Verifier checks the entries of one org, which Add takes in the order of their numbers. End returns
// whether the chain holds. Memory does not grow with the entries.
type Verifier struct {
	// After is the head before the first entry: that of the latest seal (Entry.Sealed), or the zero Head
	// of the org. Its Org is required.
	After Head

	// Checkpoint is a head that was kept outside of the database, the latest one. With the zero Head,
	// entries that were cut off at the end, and a whole new chain, are not noticed.
	Checkpoint Head

	last   Head
	sealed bool // an entry says that those up to After were replaced
}

// Add checks the next entry. The error is a *Broken. Its Org must be empty, or that of the chain.
func (v *Verifier) Add(e *Entry) error {
	if v.last.Org == "" {
		v.last = v.After
	}
	own := *e // which may have no org, as in JSON
	own.Org = v.After.Org
	switch want := v.last.Count + 1; {
	case e.N > want:
		return &Broken{want, "it is missing"}
	case e.N < want:
		return &Broken{e.N, fmt.Sprintf("it comes after row %d", v.last.Count)}
	case e.Org != "" && e.Org != own.Org:
		return &Broken{e.N, "it is of another org"}
	case own.hash(v.last.Hash) != e.Hash:
		return &Broken{e.N, "it was changed: its hash is another one"}
	case e.erased() && e.Salt+e.Mail+e.Agent+e.address() != "", !e.erased() && e.commitment() != e.Commitment:
		return &Broken{e.N, "its personal fields were changed: the commitment is another one"}
	case e.N == v.Checkpoint.Count && e.Hash != v.Checkpoint.Hash:
		return &Broken{e.N, "its hash is not that of the checkpoint: it, or one before it, was replaced"}
	}
	at, is := own.Sealed()
	v.sealed = v.sealed || is && at.Count == v.After.Count && at.Hash == v.After.Hash
	v.last = own.head()
	return nil
}

// erased reports whether there is nothing to compare with the commitment.
func (e *Entry) erased() bool { return e.Salt == "" || e.Commitment == "" }

// End checks the end of the chain after the last Add, against the head that is stored beside it. The
// error is a *Broken.
func (v *Verifier) End(head Head) error {
	if v.last.Org == "" {
		v.last = v.After
	}
	switch {
	case head.Count < v.last.Count:
		return &Broken{head.Count + 1, "the head does not count it"}
	case head.Count > v.last.Count:
		return &Broken{v.last.Count + 1, fmt.Sprintf("it is missing: the head counts %d rows", head.Count)}
	case head.Hash != v.last.Hash, v.last.Count > v.After.Count && !head.Time.Equal(v.last.Time):
		return &Broken{head.Count, "the head has another hash or time"}
	case v.Checkpoint.Count > head.Count:
		return &Broken{head.Count + 1, fmt.Sprintf("it is missing: the checkpoint counts %d rows", v.Checkpoint.Count)}
	case v.Checkpoint.Count == v.After.Count && v.Checkpoint.Hash != v.After.Hash:
		return &Broken{v.After.Count, "its hash is not that of the checkpoint"}
	case v.After.Count > 0 && !v.sealed:
		return &Broken{1, fmt.Sprintf("it is missing, and no row seals those up to %d", v.After.Count)}
	}
	return nil
}
