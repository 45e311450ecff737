package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes/engine"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

// complete registers the completions for commands and flags. `lockstep completion --help` says how to make a shell use them.
func (k known) complete(root *cobra.Command) {
	kinds := words(script.Kinds())
	for _, g := range script.Groups() {
		kinds = append(kinds, g.Name)
	}
	var axes []string
	for _, name := range search.AxisNames() {
		axes = append(axes, name+"=")
	}
	var limits []string
	for _, name := range search.LimitNames() {
		limits = append(limits, name+"=")
	}
	flags := map[string]cobra.CompletionFunc{
		"lock":        k.completeLock,
		"on":          among(play.OnSim, play.OnReal),
		"kinds":       among(kinds...),
		"without":     among(kinds...),
		"property":    among(words(checker.Properties())...),
		"strategy":    among(words(search.Strategies())...),
		"persistence": among(words(engine.Persistences)...),
		"resource":    among(clients.Resources()...),
		"pool":        among("warm"),
		"guests":      among(guestModes()...),
		"grid":        cobra.FixedCompletions(axes, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp),
		"have":        cobra.FixedCompletions(limits, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp),
		"out":         cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"against":     filesEnding("json"),
		"junit":       filesEnding("xml"),
		"svg":         filesEnding("svg"),
		"png":         filesEnding("png"),
		"html":        filesEnding("html"),
		"step":        among("all"),
		"save":        filesEnding("txtar"),
	}
	args := map[string]cobra.CompletionFunc{
		"run": k.runs(-1, "txtar"), "matrix": k.runs(-1, "txtar"), "show": k.runs(2, "txtar", "jsonl"), "explore": k.runs(1, "txtar"),
		"clocks": k.runs(-1, "txtar", "jsonl"), "replay": filesEnding("txtar"), "why": k.runs(1, "txtar"), "check": filesEnding("jsonl", "txtar"),
		"limits": k.oneLock,
		"serve":  cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	for _, kind := range rowKinds {
		args[kind.name] = k.runs(-1, "txtar", "jsonl")
	}
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		for name, f := range flags {
			if name == "on" && c.Name() == "matrix" {
				f = among(play.OnSim, play.OnReal, onBoth)
			}
			if c.Flags().Lookup(name) != nil {
				c.RegisterFlagCompletionFunc(name, f) // fails only if there is no such flag, or if it already has a completion
			}
		}
		if c.ValidArgsFunction = args[c.Name()]; c.ValidArgsFunction == nil && !c.HasSubCommands() {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(root)
}

// among completes one of the given words or, for a flag that takes a list, the last word of the list.
func among(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return continued(typed, words), cobra.ShellCompDirectiveNoFileComp
	}
}

// continued prefixes the list typed so far to each word that may come next. Words that are already in the list are left out.
func continued(typed string, words []string) []cobra.Completion {
	head := typed[:strings.LastIndex(typed, ",")+1]
	var all []cobra.Completion
	for _, w := range words {
		name, _, _ := strings.Cut(w, "\t")
		if !slices.Contains(strings.Split(head, ","), name) {
			all = append(all, head+w)
		}
	}
	return all
}

// completeLock completes a lock or a library.
func (k known) completeLock(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []string
	for _, l := range k.locks {
		all = append(all, cobra.CompletionWithDesc(l.Name, reports.Visible(l.About)))
	}
	for _, l := range k.libraries {
		all = append(all, cobra.CompletionWithDesc(l.Name, reports.Visible(l.About)))
	}
	return continued(typed, all), cobra.ShellCompDirectiveNoFileComp
}

// oneLock completes the only argument, a lock or a library.
func (k known) oneLock(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return k.completeLock(c, args, typed)
}

// runs completes the name of a scenario or, after a slash, of one of its runs. If no scenario matches, it completes files with the given
// endings. It completes at most the given number of arguments; -1 means any number.
func (k known) runs(most int, endings ...string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := k.scenariosFrom(c.Context(), typed)
		if len(found) == 0 {
			return filesEnding(endings...)(c, args, typed)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// scenariosFrom lists the scenarios that begin with what was typed, or the runs of the scenario or file that was typed.
func (k known) scenariosFrom(ctx context.Context, typed string) []cobra.Completion {
	var found []cobra.Completion
	if name, _, one := strings.Cut(typed, "/"); one {
		if file, _, ofFile := cutFile(typed); ofFile {
			name = file
		}
		s, err := k.open(ctx, name)
		if err != nil {
			return nil
		}
		for _, r := range s.scenario.Runs {
			found = append(found, name+"/"+r.ID())
		}
		return found
	}
	all, err := script.Catalogue()
	if err != nil {
		return nil
	}
	for _, s := range all {
		if strings.HasPrefix(s.Name, typed) {
			found = append(found, cobra.CompletionWithDesc(s.Name, reports.Visible(s.Title)))
		}
	}
	return found
}

// filesEnding completes a file with one of some endings, or a directory on the way to it.
func filesEnding(endings ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(endings, cobra.ShellCompDirectiveFilterFileExt)
}

// commands completes the name of a command.
func commands(root *cobra.Command) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, _, err := root.Find(args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var all []cobra.Completion
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				all = append(all, cobra.CompletionWithDesc(sub.Name(), sub.Short))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
