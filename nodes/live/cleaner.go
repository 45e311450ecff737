package live

import (
	"lockstep/sim/workers"
)

// removeAtExit has a directory removed after this process has ended. The kernel then kills the servers, but removes no directory. A
// server that has just been killed may still create a file, so the directory is removed twice.
func removeAtExit(dir string) (*workers.Cleaner, error) {
	return workers.StartCleaner(`read nothing; rm -rf -- "$1"; sleep 1; rm -rf -- "$1"`, dir)
}
