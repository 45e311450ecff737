package fields

import (
	"slices"
	"strings"
	"testing"
)

var rules = []Rule{
	{"kind", Line, 1, 1},
	{"said", Line, 0, 2},
	{"decides", Paragraph, 1, 1},
	{"side", Titled, 0, 2},
	{"opening", Paragraphs, 0, 1},
}

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"as written": "kind: agreed\nsaid: a: b\n\ndecides:\n  One\n  two.\nside: With him\n  that it is.\n\nsaid: c\nopening:\n  First.\n\n  Second,\n  and more.\n",
		"no newline": "kind: agreed\nsaid: a: b\ndecides:\n  One\n  two.\nside: With him\n  that it is.\nsaid: c\nopening:\n  First.\n\n  Second,\n  and more.",
		"blank lines before text, tabs, and ends of lines of Windows": "kind:\tagreed \r\nsaid: a:  b\r\ndecides:\r\n\r\n\tOne \r\n\ttwo.\r\nside: With him\r\n\tthat it is.\r\nsaid: c\r\nopening:\r\n  First.\r\n \r\n\r\n  Second,\r\n  and more.\r\n\r\n",
	} {
		f, err := Parse("x.txt", []byte(text), rules)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		side := f.All("side")
		if f.Value("kind") != "agreed" || !slices.Equal(f.Values("said"), []string{"a: b", "c"}) || f.Text("decides") != "One two." ||
			len(side) != 1 || side[0].Value != "With him" || !slices.Equal(side[0].Text, []string{"that it is."}) ||
			!slices.Equal(f.Paragraphs("opening"), []string{"First.", "Second, and more."}) {
			t.Errorf("%s: %+v", name, f)
		}
		if len(f.All("kind")) != 1 || len(f.All("none")) != 0 {
			t.Errorf("%s: %d kinds", name, len(f.All("kind")))
		}
		if got, want := f.Fail("kind", 0, "wrong").Error(), "x.txt:1: wrong"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// An error has file and line, and says what is required.
func TestParseErrors(t *testing.T) {
	const good = "kind: agreed\ndecides:\n  One.\n"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":                    {"", `x.txt:1: there must be a field "kind:"`},
		"text first":               {"  One.\n" + good, "x.txt:1: a file must begin with a field such as kind: VALUE in the first column"},
		"no field":                 {good + "What.\n", `x.txt:4: a line must be a field such as kind: VALUE, or text, which is indented; cannot read "What."`},
		"text in the first column": {good + "He said: what.\n", `x.txt:4: a line must be a field such as kind: VALUE, or text, which is indented; cannot read "He said: what."`},
		"a name without end":       {strings.Repeat("x", 60<<10) + ": y", `x.txt:1: unknown field "xxx`},
		"misspelt":                 {"knd: agreed\n", `x.txt:1: unknown field "knd"; the fields are kind, said, decides, side, opening (did you mean "kind"?)`},
		"missing":                  {"kind: agreed\n\n\n", `x.txt:1: there must be a field "decides:"`},
		"twice":                    {good + "kind: shown\n", `x.txt:4: there must be only one field "kind:"`},
		"too many":                 {good + "said: a\nsaid: b\nsaid: c\n", `x.txt:6: there must be at most 2 fields "said:"`},
		"no value":                 {"kind:\ndecides:\n  One.\n", "x.txt:1: kind must have a value on its line"},
		"value and text":           {"kind: agreed\n  or not\ndecides:\n  One.\n", "x.txt:1: kind must have its whole value on one line, and no text below"},
		"text on the line":         {"kind: agreed\ndecides: One.\n", "x.txt:2: decides must have its text on the lines below it, indented"},
		"no text":                  {"kind: agreed\ndecides:\n", "x.txt:2: decides must have text below it, indented"},
		"two paragraphs":           {good + "\n  Two.\n", "x.txt:2: decides must be one paragraph, without a blank line"},
		"no title":                 {good + "side:\n  that.\n", "x.txt:4: side must have a value on its line"},
		"title alone":              {good + "side: With him\n", "x.txt:4: side must have text below it, indented"},
		"not UTF-8":                {good + "said: \xff\n", "x.txt:4: the file must be UTF-8"},
		"control character":        {good + "said: \x1b[0m\n", "x.txt:4: the line must be plain text, and contains U+001B"},
		"byte order mark":          {"\ufeff" + good, "x.txt:1: the line must be plain text, and contains U+FEFF"},
		"bare return":              {"kind: agreed\rdecides:\n", "x.txt:1: the line must be plain text, and contains U+000D"},
		"no end":                   {good + strings.Repeat("  One.\n", 10<<10), "x.txt: the file must not be larger than 64 KiB"},
		"a line without end":       {strings.Repeat("x", 60<<10), "x.txt:1: a line must be a field"},
	} {
		if _, err := Parse("x.txt", []byte(tt.text), rules); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	least := []Rule{{"side", Titled, 2, 2}}
	if _, err := Parse("x.txt", []byte("side: a\n  b\n"), least); err == nil || err.Error() != `x.txt:2: there must be at least 2 fields "side:"; there are 1` {
		t.Errorf("too few: %v", err)
	}
}
