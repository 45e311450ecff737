package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// ParseStep parses a line of the lane of a process, without its indentation.
func ParseStep(process, text string) (Step, error) {
	if process == Nemesis {
		return parseNemesisStep(strings.Fields(text))
	}
	return parseClientStep(strings.Fields(text))
}

// stepForms is the form of each step of a client, which errors quote.
var stepForms = map[string]string{
	"acquire":   "acquire [for DURATION] [within DURATION [every DURATION]] [cancelled after DURATION]",
	"check":     "check",
	"enter":     "enter",
	"extend":    "extend [DURATION]",
	"increment": "increment [within DURATION]",
	"lock":      "lock NAME",
	"pause":     "pause DURATION",
	"read":      "read",
	"release":   "release [cancelled|oldest|again]",
	"repeat":    "repeat NUMBER STEP",
	"sleep":     "sleep DURATION",
	"stay":      "stay",
	"until":     "until DURATION",
	"update":    "update WORD",
	"write":     "write VALUE [blind]",
}

func parseClientStep(words []string) (Step, error) {
	verb, args := words[0], words[1:]
	switch {
	case verb == "acquire":
		if s, err := parseAcquire(args); err != errForm {
			return s, err
		}
	case verb == "extend" && len(args) == 0:
		return Extend{}, nil
	case verb == "extend" && len(args) == 1:
		return parseExtend(args[0])
	case verb == "release" && len(args) == 0:
		return Release{}, nil
	case verb == "release" && len(args) == 1 && args[0] == "cancelled":
		return Release{Cancelled: true}, nil
	case verb == "release" && len(args) == 1 && args[0] == "oldest":
		return Release{Oldest: true}, nil
	case verb == "release" && len(args) == 1 && args[0] == "again":
		return Release{Again: true}, nil
	case verb == "increment" && len(args) == 0:
		return Increment{}, nil
	case verb == "increment" && len(args) == 2 && args[0] == "within":
		d, err := history.ParsePositive(args[1])
		return Increment{Within: d}, err
	case verb == "enter" && len(args) == 0:
		return Enter{}, nil
	case verb == "write" && len(args) == 1:
		return Write{Value: args[0]}, checkValue(args[0])
	case verb == "write" && len(args) == 2 && args[1] == "blind":
		return Write{Value: args[0], Blind: true}, checkValue(args[0])
	case verb == "update" && len(args) == 1:
		return Update{Word: args[0]}, checkValue(args[0])
	case verb == "stay" && len(args) == 0:
		return Stay{}, nil
	case verb == "stay" && len(args) == 1:
		if d, err := history.ParsePositive(args[0]); err == nil {
			return nil, fmt.Errorf("cannot read %q; write sleep %s to wait that long; stay stands alone, as the last step, and keeps the client running to the end", strings.Join(words, " "), history.FormatDuration(d))
		}
	case verb == "repeat" && len(args) >= 2:
		return parseRepeat(args)
	case verb == "lock" && len(args) == 1:
		return Lock{Name: args[0]}, checkLockName(args[0])
	case verb == "read" && len(args) == 0:
		return Read{}, nil
	case verb == "check" && len(args) == 0:
		return Check{}, nil
	case verb == "pause" && len(args) == 1:
		d, err := history.ParsePositive(args[0])
		return Pause{For: d}, err
	case verb == "sleep" && len(args) == 1:
		d, err := history.ParsePositive(args[0])
		return Sleep{For: d}, err
	case verb == "until" && len(args) == 1:
		d, err := history.ParsePositive(args[0])
		return Until{Time: d}, err
	}
	if form, ok := stepForms[verb]; ok {
		return nil, fmt.Errorf("cannot read %q; write %s", strings.Join(words, " "), form)
	}
	return nil, history.Unknown("step", verb, sorted(stepForms))
}

// errForm says that the words of a step do not have the form that its verb requires.
var errForm = errors.New("not in the form of the step")

func parseAcquire(args []string) (s Acquire, err error) {
	for _, part := range []struct {
		words []string
		d     *time.Duration
	}{{[]string{"for"}, &s.TTL}, {[]string{"within"}, &s.Within}, {[]string{"every"}, &s.Every}, {[]string{"cancelled", "after"}, &s.Cancelled}} {
		n := len(part.words)
		if len(args) <= n || !slices.Equal(args[:n], part.words) {
			continue
		}
		if *part.d, err = history.ParsePositive(args[n]); err != nil {
			return s, err
		}
		args = args[n+1:]
	}
	if len(args) > 0 || s.Every != 0 && s.Within == 0 {
		return s, errForm
	}
	return s, wholeMilliseconds("acquire for", s.TTL)
}

// parseExtend parses the TTL of an extension. Redis counts in milliseconds.
func parseExtend(ttl string) (Step, error) {
	d, err := history.ParsePositive(ttl)
	if err == nil {
		err = wholeMilliseconds("extend", d)
	}
	return Extend{TTL: d}, err
}

func wholeMilliseconds(what string, d time.Duration) error {
	if d%time.Millisecond != 0 {
		return fmt.Errorf("%s %s: write whole milliseconds", what, history.FormatDuration(d))
	}
	return nil
}

func parseRepeat(words []string) (Step, error) {
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > MaxRepeat {
		return nil, fmt.Errorf("cannot repeat %q times; write a number from 1 to %d", words[0], MaxRepeat)
	}
	step, err := parseClientStep(words[1:])
	if err != nil {
		return nil, err
	}
	switch step.(type) {
	case Repeat:
		return nil, fmt.Errorf("cannot repeat %q: a repeat cannot contain another", step)
	case Until, Lock:
		return nil, fmt.Errorf("cannot repeat %q: it does nothing the second time", step)
	case Stay:
		return nil, fmt.Errorf("cannot repeat %q: it is the last step of a lane", step)
	}
	return Repeat{N: n, Step: step}, nil
}

func checkLockName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%q is not the name of a lock; a name has only letters, digits and . : _ / -, and begins with a letter or a digit, such as stock:7", name)
	}
	return nil
}

func checkValue(value string) error {
	if !valueName.MatchString(value) {
		return fmt.Errorf("%q is not a value; a value has only letters, digits and . _ -, and begins with a letter or a digit, such as A", value)
	}
	return nil
}

func parseNemesisStep(words []string) (Step, error) {
	switch words[0] {
	case "at":
		if len(words) < 3 {
			return nil, fmt.Errorf("cannot read %q; write at DURATION FAULT", strings.Join(words, " "))
		}
		d, err := history.ParseSpan(words[1])
		if err != nil {
			return nil, err
		}
		fault, err := parseFault(words[2:])
		return At{Time: d, Fault: fault}, err
	case "when":
		return parseWhen(words[1:])
	}
	if verbs := history.FaultVerbs(); !slices.Contains(verbs, words[0]) {
		verbs = append(verbs, "at", "when")
		slices.Sort(verbs)
		return nil, history.Unknown("step", words[0], verbs)
	}
	fault, err := parseFault(words)
	return AtStart{Fault: fault}, err
}

func parseFault(words []string) (history.Fault, error) {
	return history.ParseFault(strings.Join(words, " "))
}

func parseWhen(words []string) (Step, error) {
	text := strings.Join(append([]string{"when"}, words...), " ")
	form := "when PROCESS EVENT [#NUMBER] [+DURATION] FAULT"
	if len(words) < 2 {
		return nil, fmt.Errorf("cannot read %q; write %s", text, form)
	}
	s := When{Event: Event{Process: words[0], What: What(words[1])}}
	words = words[2:]
	if err := history.CheckName(s.Event.Process); err != nil {
		return nil, err
	}
	if !slices.Contains(whats, s.Event.What) {
		return nil, history.Unknown("event", string(s.Event.What), WordsOf(whats))
	}
	if value := s.Event.What.Form(); value != "" {
		form = "when PROCESS " + string(s.Event.What) + " " + value + " [#NUMBER] [+DURATION] FAULT"
		if len(words) == 0 {
			return nil, fmt.Errorf("cannot read %q; write %s", text, form)
		}
		s.Event.Value, words = words[0], words[1:]
		if err := checkValue(s.Event.Value); err != nil {
			return nil, err
		}
	}
	var err error
	if s.Event.Nth, words, err = history.ParseNth(words); err != nil {
		return nil, err
	}
	if len(words) > 0 && strings.HasPrefix(words[0], "+") {
		if s.After, err = history.ParsePositive(words[0][1:]); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("cannot read %q; write %s", text, form)
	}
	s.Fault, err = parseFault(words)
	return s, err
}
