package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
	"lockstep/scenarios/shards"
	"lockstep/sim/workers"
)

// shardFlags are the options of a command that can be divided among machines.
type shardFlags struct {
	shard search.Shard
	kept  *shards.Shard // the answers, if --shard is given
	found []string      // what the shard has found
}

func (f *shardFlags) option(c *cobra.Command) {
	c.Flags().Var((*shardValue)(&f.shard), "shard", "play only shard `I/N`, such as 3/64, and keep its answers in --out, for lockstep merge")
}

// shardValue is the value of --shard.
type shardValue search.Shard

func (v *shardValue) Set(s string) (err error) {
	*(*search.Shard)(v), err = search.ParseShard(s)
	return err
}

func (v *shardValue) String() string {
	if v.Of == 0 {
		return ""
	}
	return search.Shard(*v).String()
}

func (*shardValue) Type() string { return "shard" }

// local are the options that are not part of a divided command: what concerns one process, and files that are written or read once.
var local = []string{"shard", "out", "workers", "junit", "against", "rewrite"}

// divided reports whether the command plays one shard only, so that there is no result yet.
func (f *shardFlags) divided() bool { return f.shard.Part > 0 }

// divisible refuses options with which there is no merged result, or not the same, if --shard is given. It does not name --shard: who uses a
// fleet has not given that.
func (f *shardFlags) divisible(c *cobra.Command) error {
	if !f.divided() {
		return nil
	}
	for _, name := range []string{"junit", "against", "rewrite"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s needs the result of all shards: leave it out here, and give it to lockstep merge, after --", name)
		}
	}
	for _, o := range []struct{ name, why string }{
		{"time", "each machine would make a different number of runs in that time; use --runs"},
		{"first", "the first violation is known only when all shards have ended"},
		{"grid", "one process draws the map"},
	} {
		if c.Flags().Changed(o.name) {
			return fmt.Errorf("a command with --%s cannot be divided: %s", o.name, o.why)
		}
	}
	return nil
}

// open opens the directory of a shard, if --shard is given.
func (f *shardFlags) open(c *cobra.Command, args []string, out string, locks ...string) error {
	if !f.divided() {
		return nil
	}
	if err := f.divisible(c); err != nil {
		return err
	}
	if out == "" {
		return fmt.Errorf("--shard %v: --out must name a directory for the answers of this shard", f.shard)
	}
	inputs, err := shards.Inputs(inputsOf(args, locks))
	if err != nil {
		return err
	}
	m := shards.Manifest{Command: typed(c, args), Inputs: inputs, Shard: f.shard}
	if m.Build, err = shards.Build(); err != nil {
		return err
	}
	f.kept, err = shards.Open(c.Context(), out, m)
	return err
}

// inputsOf lists the files that a command reads.
func inputsOf(args, locks []string) []string {
	var names []string
	for _, arg := range args {
		if file, _, _ := cutFile(arg); file != "" {
			names = append(names, file)
		}
	}
	for _, lock := range locks {
		if clients.IsWasm(lock) {
			names = append(names, strings.TrimPrefix(lock, "wasm:"))
		}
	}
	return names
}

// typed returns the command with its arguments and options, except those that are local.
func typed(c *cobra.Command, args []string) []string {
	words := []string{c.Name()}
	c.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(local, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+"="+v)
		}
	})
	if len(args) > 0 {
		words = append(append(words, "--"), args...)
	}
	return words
}

// memo is what the workers of the command remember: the answers of this shard, or those of all shards that are merged.
func (f *shardFlags) memo(k known) workers.Memo {
	switch {
	case f.kept != nil:
		return f.kept
	case k.merged != nil:
		return k.merged
	}
	return nil
}

// part is what is played of a search.
func (f *shardFlags) part(k known) search.Shard {
	if k.merged != nil {
		return k.merged.Shard
	}
	return f.shard
}

// end ends the work on a shard, of which err says how it went.
func (f *shardFlags) end(c *cobra.Command, out string, err error) error {
	if f.kept == nil {
		return err
	}
	if err == nil {
		err = f.kept.Complete(c.Context(), f.found)
	}
	if closed := f.kept.Close(); err == nil {
		err = closed
	}
	switch {
	case errors.Is(err, play.ErrNoGuests) && c.Context().Err() == nil:
		fmt.Fprintln(c.ErrOrStderr(), "lockstep:", told(err))
		return status(shards.ExitElsewhere)
	case err != nil:
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "shard %v is complete: %s in %s; when all shards are complete, lockstep merge DIR... prints the result\n", f.shard, many(f.kept.Known(), "answer"), operand(out))
	for _, found := range f.found {
		printWrapped(c.OutOrStdout(), "found: "+found)
	}
	return nil
}

// newMerge makes the command that puts shards together.
func newMerge(k known) *cobra.Command {
	c := &cobra.Command{
		Use:   "merge DIR... [-- OPTION...]",
		Short: "Put the shards of a command together, and print its result",
		Long: `Merge takes the directories that --shard has written, in any order (one may be given twice), and prints
what the whole command would have printed, byte for byte, with the same exit status. It carries out the command once more, and
takes the results of runs from the shards. It also does the work that no shard does, such as reducing what was found.

All shards must have been played by this very program: build it once, and copy it to the machines. A shard that is missing,
incomplete or damaged is an error.

Options after -- are added to the command, such as --json, --verbose, --out or --junit.`,
		Example: `  lockstep explore --lock redlock --nodes 3 --bound 2 --shard 1/2 --out shards/1
  lockstep explore --lock redlock --nodes 3 --bound 2 --shard 2/2 --out shards/2
  lockstep merge shards/*
  lockstep merge shards/* -- --out found --json`,
		RunE: func(c *cobra.Command, args []string) error {
			dirs, options := args, []string(nil)
			if n := c.ArgsLenAtDash(); n >= 0 {
				dirs, options = args[:n], args[n:]
			}
			return merge(c, k, dirs, options)
		},
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		e, ok := errors.AsType[*pflag.NotExistError](err)
		if ok && slices.Contains(afterwards, e.GetSpecifiedName()) {
			return fmt.Errorf("%w; options of the command that was divided come after --: lockstep merge DIR... -- --%s", err, e.GetSpecifiedName())
		}
		return flagError(c, err)
	})
	return c
}

func merge(c *cobra.Command, k known, dirs, options []string) error {
	if runtime.GOOS == "js" {
		return errors.New("shards are merged by worker processes, which this system does not have")
	}
	if len(dirs) == 0 {
		return errors.New("merge takes at least one DIR, as --shard writes it; options come after the DIRs and --")
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: there is no such directory; merge takes those that --shard writes", dir)
		} else if err == nil && !info.IsDir() {
			return fmt.Errorf("%s: that is a file, not a directory; merge takes those that --shard writes", dir)
		}
	}
	all, err := shards.Merge(c.Context(), dirs)
	if err != nil {
		return err
	}
	defer all.Close()
	if err := mergeable(all.Command); err != nil {
		return fmt.Errorf("%s: %w", dirs[0], err)
	}
	k.merged = all
	app := newApp(k)
	if err := outputOnly(app, all.Command[0], options); err != nil {
		return err
	}
	app = newApp(k) // whose flags are not set
	app.SetArgs(slices.Concat(all.Command[:1], options, all.Command[1:]))
	app.SetOut(c.OutOrStdout())
	app.SetErr(c.ErrOrStderr())
	return app.ExecuteContext(c.Context())
}

// afterwards are the options that merge takes: those that say what becomes of the result. Others would change the search whose answers the
// shards have.
var afterwards = []string{"json", "verbose", "out", "workers", "memory", "junit", "against", "rewrite"}

// outputOnly refuses other options.
func outputOnly(app *cobra.Command, name string, options []string) error {
	c, _, err := app.Find([]string{name})
	if err != nil {
		return err
	}
	if err := c.ParseFlags(options); err != nil {
		return nil // the command says what is wrong with them
	}
	if rest := c.Flags().Args(); len(rest) > 0 {
		return fmt.Errorf("after -- merge takes only options, and %q is none", rest[0])
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(afterwards, f.Name) {
			err = fmt.Errorf("--%s would change the command whose shards are merged; after -- there can only be options about its output, such as --json, --verbose or --out", f.Name)
		}
	})
	return err
}

// mergeable refuses a command that --shard does not write: a manifest comes from another machine.
func mergeable(command []string) error {
	if !slices.Contains([]string{"explore", "matrix", "run"}, command[0]) {
		return fmt.Errorf("the command of a shard must be explore, matrix or run, and is %q", command[0])
	}
	for _, word := range command[1:] {
		if word == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !strings.HasPrefix(word, "--") || slices.Contains(local, name) {
			return fmt.Errorf("the command of a shard must have only options that --shard writes, and has %q", word)
		}
	}
	return nil
}
