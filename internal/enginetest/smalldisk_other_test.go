//go:build !linux

package enginetest

import "testing"

func smallDisk(t *testing.T, _ string, _ int) { t.Skip("no disk that can be full: not Linux") }
