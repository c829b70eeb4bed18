package enginetest

import "syscall"

// endWithUs makes PostgreSQL shut down when the tests are killed. The signal is also sent when the
// thread that started it ends, but Go keeps its threads.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
