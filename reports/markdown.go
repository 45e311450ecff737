package reports

import (
	"regexp"
	"strings"
)

// mostInCell limits the number of characters of external text in a cell of a Markdown table.
const mostInCell = 600

var markdownSign = regexp.MustCompile("[\\\\`*_\\[\\]<>|&~$]")

// Markdown escapes external text for a Markdown page or a cell of a table there: it is shown as it is, and none of it is taken for
// markup, HTML or a link. Text between backquotes, such as a fault, becomes code.
func Markdown(s string) string {
	s = Printable(s, mostInCell)
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 || strings.Contains(s, "``") { // the backquotes are not paired
		return markdownSign.ReplaceAllString(s, `\$0`)
	}
	for i, part := range parts {
		if i%2 == 0 {
			parts[i] = markdownSign.ReplaceAllString(part, `\$0`)
		} else {
			parts[i] = MarkdownCodeCell(part)
		}
	}
	return strings.Join(parts, "")
}

// MarkdownCode formats external text as code, with a fence that the text cannot end.
func MarkdownCode(s string) string {
	s = Visible(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 { // a backquote at the beginning or the end of the text would belong to the fence
		s = " " + s + " "
	}
	return fence + s + fence
}

// MarkdownCodeCell is [MarkdownCode] for a cell of a table. A vertical bar would end the cell even inside code.
func MarkdownCodeCell(s string) string { return strings.ReplaceAll(MarkdownCode(s), "|", `\|`) }
