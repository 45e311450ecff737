package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// sizes returns how much memory each of some processes uses, without those that are gone.
func sizes(pids []int) (all []relative) {
	for _, pid := range pids {
		statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if fields := strings.Fields(string(statm)); err == nil && len(fields) > 2 {
			resident, _ := strconv.ParseInt(fields[1], 10, 64)
			shared, _ := strconv.ParseInt(fields[2], 10, 64) // mapped files, which several processes share
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			all = append(all, relative{pid, strings.TrimSpace(string(name)), Memory(resident-shared) * Memory(os.Getpagesize())})
		}
	}
	return all
}

// family lists a process and its descendants, without orphans.
func family(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, file := range files {
			children, _ := os.ReadFile(file)
			for _, child := range strings.Fields(string(children)) {
				if n, err := strconv.Atoi(child); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}
