package reports

import "testing"

// No character of a text ends a workflow command, or a part of it.
func TestWorkflowCommand(t *testing.T) {
	got := WorkflowCommand("error", "a,b.txtar", 3, "a: 50%,\nb", "10%\r\nx: y, z")
	if want := "::error file=a%2Cb.txtar,line=3,title=a%3A 50%25%2C b::10%25%0D%0Ax: y, z\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := WorkflowCommand("warning", "", 3, "t", "m"); got != "::warning title=t::m\n" {
		t.Errorf("%q", got)
	}
}
