package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The commands that make demo prints at the end can be run as they are, on the files that the demo has written.
func TestDemoEndsWithCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of runs")
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, demo, _ := strings.Cut(string(makefile), "\ndemo: ")
	demo, _, _ = strings.Cut(demo, "\n\n")
	run := regexp.MustCompile(`(?m)^\t\$\(BIN\) run (.*)$`).FindStringSubmatch(demo)
	next := regexp.MustCompile(`(?m)^\t@echo "  \$\(BIN\) (.*?) *#.*"$`).FindAllStringSubmatch(demo, -1)
	if run == nil || len(next) != 3 {
		t.Fatalf("the demo does not run the catalogue, or ends with %d commands:\n%s", len(next), demo)
	}
	dir := t.TempDir()
	program := func(args string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(strings.ReplaceAll(args, "$(OUT)", filepath.ToSlash(dir)))...)
		c.Env = append(os.Environ(), asProgram+"=1")
		return c
	}
	if out, err := program("run " + run[1] + " pause-after-acquire").CombinedOutput(); err != nil { // a part of the catalogue is enough
		t.Fatalf("%v\n%s", err, out)
	}
	for _, command := range next {
		c := program(command[1])
		if strings.HasPrefix(command[1], "serve ") { // runs until it is interrupted
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, " is at http://") {
				t.Errorf("lockstep %s: %q, %v", command[1], line, err)
			}
			c.Process.Kill()
			c.Wait()
			continue
		}
		if strings.HasPrefix(command[1], "matrix") {
			c.Args = append(c.Args, "pause-after-acquire", "clock-jump") // a part of it is enough here, too
		}
		out, _ := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != 0 && code != exitUnexpected || len(out) < 200 { // a library may do worse
			t.Errorf("lockstep %s: exit status %d\n%s", command[1], code, out)
		}
	}
}
