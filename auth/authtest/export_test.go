package authtest

import (
	"sync/atomic"
	"testing"
)

// FailingRows runs CheckMechanism and returns the names of the subtests that fail.
func FailingRows(t testing.TB, c Candidate) (names []string) {
	s := newMechanismTest(c)
	for _, row := range mechanismRows {
		found := &findings{TB: t}
		s.TB = found
		row.Test(s)
		if found.any.Load() {
			names = append(names, row.Name)
		}
	}
	return names
}

type findings struct {
	testing.TB
	any atomic.Bool
}

func (f *findings) Error(args ...any)                 { f.any.Store(true); f.Log(args...) }
func (f *findings) Errorf(format string, args ...any) { f.any.Store(true); f.Logf(format, args...) }
