package history

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is any of the faults in this file: one thing that the nemesis does to the world, or undoes. Every fault is a comparable
// value. Its printed form is its line in a scenario file and in a timeline; [ParseFault] is the inverse.
type Fault interface {
	String() string
	// Verb returns the first word of the printed form.
	Verb() string
	// Target returns the process or the link that the fault acts on, as printed; empty if it acts on everything.
	Target() string
}

// Pause stops a process: nothing is delivered to it, nothing that it writes is sent, and its timers do not fire. It stands for
// garbage collection, a page fault, SIGSTOP, or a virtual machine that is moved. [Resume] undoes it, and so does the end of For;
// if For is zero, only Resume does.
type Pause struct {
	Process string
	For     time.Duration
}

// Resume ends a [Pause]. The process first finds the bytes that arrived meanwhile, then the timers that came due, as a Go process nearly always does
// after SIGCONT. [Meta].TimersFirst says that clients found them the other way round.
type Resume struct {
	Process string
}

// Crash ends a process at once: kill -9, or the kernel's out-of-memory killer. Bytes that it had sent still arrive. With Power
// its machine loses power: what the operating system had not written to the disk is lost too. [Restart] undoes it on a node; a
// crashed client is gone for good.
type Crash struct {
	Process string
	Power   bool
}

// Stop ends a process in an orderly way: SIGTERM, as systemctl restart and every upgrade send it. [Restart] undoes it.
type Stop struct {
	Process string
}

// Restart undoes the [Crash] or [Stop] of a node, as an init system does. Which keys the node has depends on its persistence;
// with Empty its disk is lost.
type Restart struct {
	Process string
	Empty   bool
}

// Promote makes a replica a primary, and makes the address that clients know lead to it: REPLICAOF NO ONE and a new DNS entry, by
// an operator who has decided that the old primary is gone. [Follow] undoes it.
type Promote struct {
	Process string
}

// Follow makes a node a replica of another: REPLICAOF. It loses its own keys. [Promote] undoes it.
type Follow struct {
	Process, Primary string
}

// Jump steps the wall clock of a process, forward or back: an administrator, or NTP correcting a large error at once. The
// steady clock does not notice. The opposite jump undoes it.
type Jump struct {
	Process string
	By      time.Duration
}

// Drift makes both clocks of a process run fast (positive) or slow (negative) from now on: an oscillator that is too warm, or a
// virtual machine whose ticks are lost. A drift of +0ppm undoes it; the error so far stays.
type Drift struct {
	Process string
	PPM     int64
}

// Slew corrects the wall clock of a process by By, spread evenly over the time Over: what a careful NTP client does instead of a
// [Jump]. The opposite slew undoes it. A jump or another slew ends one in progress, as setting the clock ends an adjtime(3).
type Slew struct {
	Process  string
	By, Over time.Duration
}

// Cut holds what is in flight on a link and what is sent from now on, while the connections stay open, as TCP does with a
// broken cable or a firewall rule that drops. [Heal] undoes it, and lets through what is still being retransmitted.
type Cut struct {
	Link Link
}

// Heal heals a link, or every link if Link is zero: it undoes [Cut], [Hold] and [Delay].
type Heal struct {
	Link Link
}

// Hold keeps messages on a link from arriving: a router whose buffers are full, a proxy that stalls. It has the same effect as
// [Cut], but stands for something else; it is meant for ordering messages. [ReleaseLink] undoes it.
type Hold struct {
	Link Link
}

// ReleaseLink releases the messages that a [Hold], or a [Chosen] hold, keeps on a link; it is written "release c1->n1". (Its name
// distinguishes it from [Release], the operation of a client.)
type ReleaseLink struct {
	Link Link
}

// Delay makes each message that is sent on a link from now on take By longer: congestion, a detour, a slow disk behind a
// queue. A delay of 0s, or [Heal], undoes it.
type Delay struct {
	Link Link
	By   time.Duration
}

// Reset breaks the connections of a link and drops what is in flight on them: a middlebox that has lost its state, a load
// balancer that was restarted. Nothing undoes it; clients may connect again at once.
type Reset struct {
	Link Link
}

// Chosen is a fault of one message, chosen by its content: the next request or reply in one direction of a link that matches
// What. It stands for a packet that was unlucky, and applies once. What is a command word in capitals (SET, EVALSHA), or the
// operation that the client is in (acquire, release, write, read); for a reply, it is that of its request. [ReleaseLink] or
// [Heal] releases a message that is held; the other actions cannot be undone. It is written "on reply SET n1->c1 hold", and, for
// the third such message instead of the next, "on reply SET #3 n1->c1 hold".
type Chosen struct {
	Reply  bool
	What   string
	Nth    int  // which of the matching messages, from 2 on; 0 for the next one
	Link   Link // one direction: from the sender of the message to its receiver
	Action Action
	By     time.Duration // how much longer the message takes, if Action is DelayMessage
}

// Action is what a [Chosen] fault does to its message.
type Action string

// The actions mirror [Hold], [Delay] and [Reset]. A reset breaks the connection that carries the message and drops it.
const (
	HoldMessage  Action = "hold"
	DelayMessage Action = "delay"
	ResetMessage Action = "reset"
)

func (f Pause) String() string {
	if f.For == 0 {
		return "pause " + f.Process
	}
	return "pause " + f.Process + " " + FormatDuration(f.For)
}

func (f Crash) String() string {
	if f.Power {
		return "crash " + f.Process + " power"
	}
	return "crash " + f.Process
}

func (f Restart) String() string {
	if f.Empty {
		return "restart " + f.Process + " empty"
	}
	return "restart " + f.Process
}

func (f Slew) String() string {
	return "slew " + f.Process + " " + formatSigned(f.By) + " over " + FormatDuration(f.Over)
}

func (f Heal) String() string {
	if f.Link == (Link{}) {
		return "heal"
	}
	return "heal " + f.Link.String()
}

func (f Chosen) String() string {
	message := "request"
	if f.Reply {
		message = "reply"
	}
	s := "on " + message + " " + f.What + " " + FormatNth(f.Nth) + f.Link.String() + " " + string(f.Action)
	if f.Action == DelayMessage {
		s += " " + FormatDuration(f.By)
	}
	return s
}

func (f Resume) String() string      { return "resume " + f.Process }
func (f Stop) String() string        { return "stop " + f.Process }
func (f Promote) String() string     { return "promote " + f.Process }
func (f Follow) String() string      { return "follow " + f.Process + " " + f.Primary }
func (f Jump) String() string        { return "jump " + f.Process + " " + formatSigned(f.By) }
func (f Drift) String() string       { return fmt.Sprintf("drift %s %+dppm", f.Process, f.PPM) }
func (f Cut) String() string         { return "cut " + f.Link.String() }
func (f Hold) String() string        { return "hold " + f.Link.String() }
func (f ReleaseLink) String() string { return "release " + f.Link.String() }
func (f Delay) String() string       { return "delay " + f.Link.String() + " " + FormatDuration(f.By) }
func (f Reset) String() string       { return "reset " + f.Link.String() }

func (Pause) Verb() string       { return "pause" }
func (Resume) Verb() string      { return "resume" }
func (Crash) Verb() string       { return "crash" }
func (Stop) Verb() string        { return "stop" }
func (Promote) Verb() string     { return "promote" }
func (Follow) Verb() string      { return "follow" }
func (Restart) Verb() string     { return "restart" }
func (Jump) Verb() string        { return "jump" }
func (Drift) Verb() string       { return "drift" }
func (Slew) Verb() string        { return "slew" }
func (Cut) Verb() string         { return "cut" }
func (Heal) Verb() string        { return "heal" }
func (Hold) Verb() string        { return "hold" }
func (ReleaseLink) Verb() string { return "release" }
func (Delay) Verb() string       { return "delay" }
func (Reset) Verb() string       { return "reset" }
func (Chosen) Verb() string      { return "on" }

func (f Pause) Target() string       { return f.Process }
func (f Resume) Target() string      { return f.Process }
func (f Crash) Target() string       { return f.Process }
func (f Stop) Target() string        { return f.Process }
func (f Promote) Target() string     { return f.Process }
func (f Follow) Target() string      { return f.Process }
func (f Restart) Target() string     { return f.Process }
func (f Jump) Target() string        { return f.Process }
func (f Drift) Target() string       { return f.Process }
func (f Slew) Target() string        { return f.Process }
func (f Cut) Target() string         { return f.Link.String() }
func (f Heal) Target() string        { return f.Link.String() }
func (f Hold) Target() string        { return f.Link.String() }
func (f ReleaseLink) Target() string { return f.Link.String() }
func (f Delay) Target() string       { return f.Link.String() }
func (f Reset) Target() string       { return f.Link.String() }
func (f Chosen) Target() string      { return f.Link.String() }

// LinkOf returns the link that a fault affects, or the zero Link if it affects a process or all links.
func LinkOf(f Fault) Link {
	switch f := f.(type) {
	case Cut:
		return f.Link
	case Heal:
		return f.Link
	case Hold:
		return f.Link
	case ReleaseLink:
		return f.Link
	case Delay:
		return f.Link
	case Reset:
		return f.Link
	case Chosen:
		return f.Link
	}
	return Link{}
}

// ActsOnLinks reports whether a fault acts on links; any other acts on a process.
func ActsOnLinks(f Fault) bool { return f == Heal{} || LinkOf(f) != Link{} }

// A FaultRow is the form of a fault, with what it means.
type FaultRow struct {
	Form    string `json:"words"` // which errors quote
	Note    string `json:"note"`
	Example string `json:"example"`
	Group   string `json:"group"` // what it affects
}

// The groups of faults.
const (
	onProcesses   = "processes"
	onReplication = "replication"
	onClocks      = "clocks"
	onNetwork     = "network"
)

// faultRows has the faults, in the order in which they are documented.
var faultRows = []FaultRow{
	{"pause PROCESS [DURATION]", "the process stands still for that long, or until resume; its connections stay open", "pause c1 15s", onProcesses},
	{"resume PROCESS", "ends a pause", "resume c1", onProcesses},
	{"crash PROCESS [power]", "the process ends at once; with power, its machine loses power, and what was not on its disk is lost", "crash n1", onProcesses},
	{"stop PROCESS", "the server ends in an orderly way", "stop n1", onProcesses},
	{"restart PROCESS [empty]", "starts a server again after crash or stop; with empty, without its data", "restart n1 empty", onProcesses},
	{"promote PROCESS", "makes a replica of n1 the primary; clients then find it instead of n1", "promote r1", onReplication},
	{"follow PROCESS PRIMARY", "makes n1 or a replica of it a replica of another server; it loses its own keys", "follow n1 r1", onReplication},
	{"jump PROCESS +DURATION or -DURATION", "sets the wall clock forward or back; the steady clock does not notice", "jump n1 +10s", onClocks},
	{"drift PROCESS +NUMBERppm or -NUMBERppm", "the wall clock and the steady clock run fast or slow from now on, by so many millionths", "drift c1 -100000ppm", onClocks},
	{"slew PROCESS +DURATION or -DURATION over DURATION", "corrects the wall clock little by little", "slew n1 +1s over 10s", onClocks},
	{"cut LINK", "no message arrives any more; the connections stay open", "cut c1-n1", onNetwork},
	{"heal [LINK]", "ends cut, hold and delay on a link, or on every link", "heal c1-n1", onNetwork},
	{"hold LINK", "keeps messages from arriving until release", "hold c1->n1", onNetwork},
	{"release LINK", "delivers the messages that hold has kept back", "release c1->n1", onNetwork},
	{"delay LINK DURATION", "each message takes that much longer from now on; 0s ends it", "delay c1->n1 50ms", onNetwork},
	{"reset LINK", "breaks the connections, and drops the messages on them; clients may connect again at once", "reset c1-n1", onNetwork},
	{"on request|reply COMMAND|OPERATION [#NUMBER] FROM->TO (hold|delay DURATION|reset)", "holds or delays one message, or drops it and breaks its connection (reset): the next that belongs to this command or operation, or the one with this number", "on reply SET n1->c1 reset", onNetwork},
}

// FaultRows lists the faults, in the order in which they are documented.
func FaultRows() []FaultRow { return slices.Clone(faultRows) }

// faultForms is the form of each fault, by its first word.
var faultForms = func() map[string]string {
	forms := map[string]string{}
	for _, r := range faultRows {
		verb, _, _ := strings.Cut(r.Form, " ")
		forms[verb] = r.Form
	}
	return forms
}()

// FaultForms returns the form of each fault, sorted. Words in capitals are placeholders, and brackets enclose what may be left out.
func FaultForms() []string {
	var forms []string
	for _, form := range faultForms {
		forms = append(forms, form)
	}
	slices.Sort(forms)
	return forms
}

// FaultVerbs returns the first words of all faults, sorted.
func FaultVerbs() []string {
	var verbs []string
	for verb := range faultForms {
		verbs = append(verbs, verb)
	}
	slices.Sort(verbs)
	return verbs
}

// ParseFault parses a fault in its printed form. Errors say which form is right.
func ParseFault(s string) (Fault, error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return nil, fmt.Errorf("not a fault; the faults are %s", strings.Join(FaultVerbs(), ", "))
	}
	form, ok := faultForms[words[0]]
	if !ok {
		return nil, Unknown("fault", words[0], FaultVerbs())
	}
	f, err := parseFault(words)
	if errors.Is(err, errForm) {
		return nil, fmt.Errorf("cannot read %q; write %s", strings.Join(words, " "), form)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// SetsClock reports whether a fault makes a clock of its target wrong. The fault may be nil.
func SetsClock(f Fault) bool {
	switch f.(type) {
	case Jump, Slew, Drift:
		return true
	}
	return false
}

// errForm says that a fault does not have its form.
var errForm = errors.New("wrong form")

func parseFault(words []string) (Fault, error) {
	switch verb := words[0]; verb {
	case "cut", "heal", "hold", "release", "delay", "reset":
		return parseLinkFault(verb, words[1:])
	case "on":
		return parseChosen(words[1:])
	default:
		return parseProcessFault(verb, words[1:])
	}
}

func parseProcessFault(verb string, args []string) (Fault, error) {
	if len(args) == 0 {
		return nil, errForm
	}
	process, args := args[0], args[1:]
	if err := CheckName(process); err != nil {
		return nil, err
	}
	switch {
	case verb == "pause" && len(args) == 0:
		return Pause{Process: process}, nil
	case verb == "pause" && len(args) == 1:
		d, err := ParsePositive(args[0])
		return Pause{process, d}, err
	case verb == "resume" && len(args) == 0:
		return Resume{process}, nil
	case verb == "crash" && len(args) == 0:
		return Crash{Process: process}, nil
	case verb == "crash" && len(args) == 1 && args[0] == "power":
		return Crash{process, true}, nil
	case verb == "stop" && len(args) == 0:
		return Stop{process}, nil
	case verb == "promote" && len(args) == 0:
		return Promote{process}, nil
	case verb == "follow" && len(args) == 1:
		if args[0] == process {
			return nil, fmt.Errorf("%s cannot follow itself", process)
		}
		return Follow{process, args[0]}, CheckName(args[0])
	case verb == "restart" && len(args) == 0:
		return Restart{Process: process}, nil
	case verb == "restart" && len(args) == 1 && args[0] == "empty":
		return Restart{process, true}, nil
	case verb == "jump" && len(args) == 1:
		by, err := parseSigned(args[0])
		return Jump{process, by}, err
	case verb == "drift" && len(args) == 1:
		ppm, err := parsePPM(args[0])
		return Drift{process, ppm}, err
	case verb == "slew" && len(args) == 3 && args[1] == "over":
		return parseSlew(process, args[0], args[2])
	}
	return nil, errForm
}

func parseSlew(process, by, over string) (Fault, error) {
	f := Slew{Process: process}
	var err error
	if f.By, err = parseSigned(by); err != nil {
		return nil, err
	}
	if f.Over, err = ParsePositive(over); err != nil {
		return nil, err
	}
	if f.By.Abs() >= f.Over {
		return nil, fmt.Errorf("a slew by %s takes longer than %s; a correction that is as fast as time itself is a jump", by, over)
	}
	return f, nil
}

func parseLinkFault(verb string, args []string) (Fault, error) {
	if verb == "heal" && len(args) == 0 {
		return Heal{}, nil
	}
	want := 1
	if verb == "delay" {
		want = 2
	}
	if len(args) != want {
		return nil, errForm
	}
	link, err := parseLink(args[0])
	if err != nil {
		return nil, err
	}
	switch verb {
	case "cut":
		return Cut{link}, nil
	case "heal":
		return Heal{link}, nil
	case "hold":
		return Hold{link}, nil
	case "release":
		return ReleaseLink{link}, nil
	case "reset":
		return Reset{link}, nil
	default:
		by, err := ParseSpan(args[1])
		return Delay{link, by}, err
	}
}

var commandWord = regexp.MustCompile(`^[A-Z][A-Z0-9._-]*$`)

func parseChosen(args []string) (Fault, error) {
	if len(args) < 4 || args[0] != "request" && args[0] != "reply" {
		return nil, errForm
	}
	f := Chosen{Reply: args[0] == "reply", What: args[1]}
	operations := []string{Acquire, Release, Write, Read, Extend, Increment, Update, Enter}
	if !commandWord.MatchString(f.What) && !slices.Contains(operations, f.What) {
		return nil, fmt.Errorf("%q is neither a command in capitals, such as SET, nor an operation: %s",
			f.What, strings.Join(operations, ", "))
	}
	var err error
	if f.Nth, args, err = ParseNth(args[2:]); err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, errForm
	}
	if f.Link, err = parseLink(args[0]); err != nil {
		return nil, err
	}
	if f.Link.Both {
		return nil, fmt.Errorf("%q has two directions, but a message has one; write %s->%s or %s->%s",
			args[0], f.Link.From, f.Link.To, f.Link.To, f.Link.From)
	}
	f.Action = Action(args[1])
	rest := args[2:]
	switch {
	case f.Action == DelayMessage && len(rest) == 1:
		f.By, err = ParsePositive(rest[0])
		return f, err
	case (f.Action == HoldMessage || f.Action == ResetMessage) && len(rest) == 0:
		return f, nil
	}
	return nil, errForm
}

func parsePPM(s string) (int64, error) {
	digits, ok := strings.CutSuffix(s, "ppm")
	ppm, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (ppm < -MaxDriftPPM || ppm > MaxDriftPPM):
		return 0, fmt.Errorf("drift %s is out of range; the limits are -%dppm and +%dppm", s, MaxDriftPPM, MaxDriftPPM)
	case !ok, err != nil, !signed(s):
		return 0, fmt.Errorf("%q is not a drift; write a sign, a whole number and ppm, such as +500ppm", s)
	}
	return ppm, nil
}
