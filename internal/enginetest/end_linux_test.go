package enginetest

import "syscall"

// endWithUs has PostgreSQL shut down when the tests are killed. It would also
// when the thread ended that started it, but Go keeps its threads.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
