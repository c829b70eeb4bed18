package listing

import "time"

// Need is what an auth.Need asks for.
type Need struct {
	Public     bool          // no mechanism runs
	Optional   bool          // a request without a credential is admitted, too
	Operation  string        // of Allow and Some, with its placeholders; "": any scope will do
	Part       bool          // of Some: any part of the Operation will do
	Mechanisms []string      // of By; nil: all
	Fresh      time.Duration // 0: no matter how old the proof is
	FreshFor   []string      // the mechanisms that Fresh is asked of; nil: all
}
