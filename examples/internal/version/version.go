// Package version says from which source a program of the examples was built.
package version

import (
	"fmt"
	"runtime/debug"
)

// Line returns the name of a program, its version, and the Go version that built it, without a
// newline. The version is that of the module: the go command makes it of the commit in a git
// working tree, and it is "(devel)" where there is none.
func Line(program string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return program + " (devel)"
	}
	return fmt.Sprintf("%s %s, %s", program, info.Main.Version, info.GoVersion)
}
