// Package version says from which source a program of the examples was built.
package version

import (
	"fmt"
	"runtime/debug"
)

// Line returns the name of a program, its version, and the Go version that built it,
// without a newline. The version is that of the module or, for a build in a git working
// tree, the commit. Without both it is "(devel)".
func Line(program string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return program + " (devel)"
	}
	return line(program, info)
}

func line(program string, info *debug.BuildInfo) string {
	version, commit, changed := info.Main.Version, "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			commit = ", commit " + setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = " with changes"
		}
	}
	if version == "" {
		version = "(devel)"
	}
	return fmt.Sprintf("%s %s%s%s, %s", program, version, commit, changed, info.GoVersion)
}
