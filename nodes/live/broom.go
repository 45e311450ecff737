package live

import (
	"lockstep/sim/workers"
)

// sweep has a directory removed when this process is gone. The kernel ends the servers then, but removes no directories. A server that
// has just been killed may still create a file, so the broom removes the directory twice.
func sweep(dir string) (*workers.Broom, error) {
	return workers.StartBroom(`read nothing; rm -rf -- "$1"; sleep 1; rm -rf -- "$1"`, dir)
}
