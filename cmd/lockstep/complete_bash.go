package main

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// addCompletion adds the command that prints the completion script of a shell. It is the command of cobra, but it refuses an unknown
// shell, and has its own script for bash.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic("lockstep: " + err.Error())
	}
	learns := map[string]string{
		"bash":       "source <(lockstep completion bash)",
		"zsh":        "source <(lockstep completion zsh)",
		"fish":       "lockstep completion fish | source",
		"powershell": "lockstep completion powershell | Out-String | Invoke-Expression",
	}
	completion.Example = "  " + learns["bash"]
	for _, c := range completion.Commands() {
		c.Example = "  " + learns[c.Name()]
		if c.Name() == "bash" {
			c.RunE = func(c *cobra.Command, _ []string) error {
				without, err := c.Flags().GetBool("no-descriptions")
				if err != nil {
					return err
				}
				return bashCompletion(root, root.OutOrStdout(), !without)
			}
			c.Long = strings.Replace(c.Long, "This script depends on the 'bash-completion' package.\nIf it is not installed already, you can install it via your OS's package manager.\n\n", "", 1)
		}
	}
	completion.RunE = func(c *cobra.Command, _ []string) error { return c.Help() } // cobra accepts any argument of a command without RunE
}

// bashScript is what bash needs besides the script of cobra.
const bashScript = `
# Sets cur, prev, words and cword, as the package bash-completion does, or without it.
__lockstep_words()
{
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    # Bash splits words at = and :, which may be part of an argument, as in --lock=NAME.
    local i rest=$COMP_LINE word trimmed last=-1
    words=() cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        if ((last >= 0)) && [[ $trimmed == "$rest" && ( $word == [=:]* || ${words[last]} == *[=:] ) ]]; then
            words[last]+=$word
        else
            words+=("$word")
            last=$((${#words[@]} - 1))
        fi
        rest=${trimmed#"$word"}
        ((i == COMP_CWORD)) && cword=$last
    done
    cur=${words[cword]} prev=${words[cword > 0 ? cword - 1 : 0]}
}

# Completes a directory (-d), or a file with one of some endings (ENDING|...), as the package bash-completion does, or without it.
__lockstep_files()
{
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
        return
    fi
    local name
    compopt -o filenames 2>/dev/null
    while IFS='' read -r name; do
        if [[ -d $name || -z ${1-} || $1 != -d && $name == *.* && "|$1" == *"|${name##*.}|"* ]]; then
            COMPREPLY+=("$name")
        fi
    done < <(compgen -f -- "$cur")
}

# Quotes words for bash, but leaves commas alone: bash needs no quotes for them, and nobody types them in lists of names.
__lockstep_quote()
{
    local word
    for word in "$@"; do
        printf -v word "%q" "$word"
        printf "%s\n" "${word//\\,/,}"
    done
}
`

// bashChanges are the replacements in the script of cobra, as pairs of old and new.
var bashChanges = []string{
	`_get_comp_words_by_ref "$@" cur prev words cword`, `__lockstep_words "$@"`,
	`filteringCmd="_filedir `, `filteringCmd="__lockstep_files `,
	` _filedir -d`, ` __lockstep_files -d`,
	`                    _filedir
`, `                    __lockstep_files
`,
	`printf -v comp "%q" "${compline%%$tab*}" &>/dev/null || comp=$(printf "%q" "${compline%%$tab*}")`,
	`printf -v comp "%q" "${compline%%$tab*}" && comp=${comp//\\,/,}`,
	`printf "%q\n" `, `__lockstep_quote `,
	`printf "%q" `, `__lockstep_quote `,
}

// bashCompletion writes the script for bash. The script of cobra needs the package bash-completion, and completes only the first name of
// a list.
func bashCompletion(root *cobra.Command, w io.Writer, descriptions bool) error {
	var b bytes.Buffer
	if err := root.GenBashCompletionV2(&b, descriptions); err != nil {
		return err
	}
	script := b.String()
	for change := range slices.Chunk(bashChanges, 2) {
		script = strings.ReplaceAll(script, change[0], change[1])
	}
	head, rest, _ := strings.Cut(script, "\n")
	_, err := io.WriteString(w, head+"\n"+bashScript+rest)
	return err
}
