package reports

import (
	"fmt"
	"strings"
)

// mostMessage is the most bytes in an annotation, which is more than anybody reads there.
const mostMessage = 16 << 10

// WorkflowCommand is a line that makes GitHub Actions annotate a run: level is error or warning. The annotation is at a line of a
// file, unless these are empty.
func WorkflowCommand(level, file string, line int, title, message string) string {
	var properties []string
	if file != "" {
		properties = append(properties, "file="+commandProperty(Visible(file)))
		if line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", line))
		}
	}
	properties = append(properties, "title="+commandProperty(Visible(title)))
	if len(message) > mostMessage {
		message = strings.ToValidUTF8(message[:mostMessage], "") + "…"
	}
	return fmt.Sprintf("::%s %s::%s\n", level, strings.Join(properties, ","), commandData(message))
}

// commandData and commandProperty escape characters that the runner would take for the end of a command, or of a part of it.
func commandData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func commandProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
