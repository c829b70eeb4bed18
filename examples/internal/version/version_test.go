package version

import (
	"runtime/debug"
	"testing"
)

func TestLine(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "true"}}
	for _, test := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"a released module", debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.3"}}, "client v1.2.3, go1.26.0"},
		{"a working tree", debug.BuildInfo{GoVersion: "go1.26.0", Settings: commit}, "client (devel), commit 0123abc with changes, go1.26.0"},
		{"nothing known", debug.BuildInfo{GoVersion: "go1.26.0"}, "client (devel), go1.26.0"},
	} {
		if got := line("client", &test.info); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
