//go:build unix

package ci

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A manifest is the file for Kubernetes.
type manifest struct {
	claim         core.PersistentVolumeClaim
	search, merge batch.Job
}

func readManifest(t *testing.T) (m manifest) {
	t.Helper()
	all := strings.Split(read(t, filepath.Join(files, "job.kubernetes.yaml")), "\n---\n")
	if len(all) != 3 {
		t.Fatalf("there are %d objects, want 3", len(all))
	}
	for i, into := range []any{&m.claim, &m.search, &m.merge} {
		if err := yaml.UnmarshalStrict([]byte(all[i]), into); err != nil {
			t.Fatalf("object %d: %v", i+1, err)
		}
	}
	return m
}

func TestKubernetesSchema(t *testing.T) {
	m := readManifest(t)
	for _, o := range []struct{ got, want string }{
		{m.claim.APIVersion + " " + m.claim.Kind, "v1 PersistentVolumeClaim"},
		{m.search.APIVersion + " " + m.search.Kind, "batch/v1 Job"},
		{m.merge.APIVersion + " " + m.merge.Kind, "batch/v1 Job"},
	} {
		if o.got != o.want {
			t.Errorf("an object is a %s, want %s", o.got, o.want)
		}
	}
	s := m.search.Spec
	switch {
	case s.CompletionMode == nil || *s.CompletionMode != batch.IndexedCompletion || s.Completions == nil:
		t.Error("the search must be Indexed, with completions")
	case value(t, s.Template.Spec.Containers[0], "SHARDS") != fmt.Sprint(*s.Completions):
		t.Errorf("SHARDS must be the number of completions, %d", *s.Completions)
	case s.BackoffLimitPerIndex == nil || s.Template.Spec.RestartPolicy != core.RestartPolicyNever: // the server demands the latter of the former
		t.Error("the search must have backoffLimitPerIndex and the restart policy Never")
	}
	if m.merge.Spec.Suspend == nil || !*m.merge.Spec.Suspend {
		t.Error("the merge must be suspended until all shards are complete")
	}
	if got, want := image(m.merge), image(m.search); got != want {
		t.Errorf("the image of the merge is %s, want that of the shards, %s", got, want)
	}
	for _, j := range []batch.Job{m.search, m.merge} {
		pod := j.Spec.Template.Spec
		c := pod.Containers[0]
		switch {
		case len(pod.Containers) != 1 || pod.SecurityContext == nil || pod.SecurityContext.RunAsNonRoot == nil || !*pod.SecurityContext.RunAsNonRoot:
			t.Errorf("%s: its one container must not run as root", j.Name)
		case c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem:
			t.Errorf("%s: the root of its files must be read-only", j.Name)
		case c.Resources.Limits.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero():
			t.Errorf("%s: it must have requests and limits", j.Name)
		}
		mounts := map[string]string{}
		for _, v := range c.VolumeMounts {
			mounts[v.MountPath] = v.Name
		}
		for _, v := range pod.Volumes {
			switch {
			case v.Name == mounts["/tmp"] && v.EmptyDir != nil:
			case v.Name == mounts["/shards"] && v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == m.claim.Name:
			default:
				t.Errorf("%s: the volume %s is neither /tmp nor the claim %s at /shards", j.Name, v.Name, m.claim.Name)
			}
		}
	}
}

func image(j batch.Job) string { return j.Spec.Template.Spec.Containers[0].Image }

// value is the value of a variable in a container.
func value(t *testing.T, c core.Container, name string) string {
	t.Helper()
	i := slices.IndexFunc(c.Env, func(v core.EnvVar) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("the container has no variable %s", name)
	}
	v := c.Env[i]
	if v.ValueFrom != nil {
		if v.ValueFrom.ResourceFieldRef == nil || v.ValueFrom.ResourceFieldRef.Resource != "limits.cpu" {
			t.Fatalf("this test does not know where %s comes from", name)
		}
		return fmt.Sprint(c.Resources.Limits.Cpu().Value())
	}
	return v.Value
}

// pod is how a container is run here: with no variables but its own, and if possible as somebody who may write only where a volume is.
func pod(t *testing.T, c core.Container, volume, index string) *exec.Cmd {
	t.Helper()
	program := filepath.Dir(lockstep(t))
	var words []string
	for _, w := range slices.Concat(c.Command, c.Args) {
		words = append(words, strings.ReplaceAll(w, "/shards/", volume+"/"))
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + program + ":/usr/bin:/bin"}
	for _, v := range c.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+value(t, c, v.Name))
	}
	if index != "" {
		cmd.Env = append(cmd.Env, "JOB_COMPLETION_INDEX="+index)
	}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	return cmd
}

func TestKubernetes(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays a search in shards")
	}
	m := readManifest(t)
	search, merge := m.search.Spec.Template.Spec.Containers[0], m.merge.Spec.Template.Spec.Containers[0]
	search.Args = append(slices.Clone(arguments), "--seed=5")
	for i := range search.Env {
		if search.Env[i].Name == "SHARDS" {
			search.Env[i].Value = fmt.Sprint(shardCount)
		}
	}
	volume, err := os.MkdirTemp("", "lockstep-shards-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(volume) })
	if err := os.Chmod(volume, 0o777); err != nil { // as fsGroup would do
		t.Fatal(err)
	}
	play := func(index string) (string, int) {
		t.Helper()
		return script(t, pod(t, search, volume, index))
	}
	for index := range shardCount {
		out, status := play(fmt.Sprint(index))
		says(t, out, status, 0, fmt.Sprintf("shard %d/%d is complete: ", index+1, shardCount))
	}
	want := alone(t, environ(), "5")
	merged := func() {
		t.Helper()
		out, status := script(t, pod(t, merge, volume, ""))
		says(t, out, status, 0)
		// Where it was saved is a part of the text.
		same(t, "the text", strings.ReplaceAll(out, volume+"/found/", "found/"), want.text)
		same(t, "what was saved", tree(t, filepath.Join(volume, "found")), want.found)
	}
	merged()

	// A pod that was killed, and its successor.
	shard := filepath.Join(volume, "parts/2")
	kept := interrupt(t, shard)
	out, status := script(t, pod(t, merge, volume, ""))
	says(t, out, status, 3, "shard 2/3 is incomplete; its command with the same --out continues it")
	out, status = play("1")
	says(t, out, status, 0)
	continued(t, shard, kept)
	merged()

	// A predecessor that is still running.
	lock, err := os.Open(filepath.Join(volume, "2.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	out, status = play("1")
	says(t, out, status, 3, "another pod is still playing shard 2/3")
	lock.Close()

	// A shard that is not there.
	if err := os.RemoveAll(shard); err != nil {
		t.Fatal(err)
	}
	out, status = script(t, pod(t, merge, volume, ""))
	says(t, out, status, 3, "lockstep: shard 2 of 3 is missing\n")

	for index, want := range map[string]string{
		"":   "JOB_COMPLETION_INDEX: must be set: the job must have the completionMode Indexed",
		"3":  "SHARDS must be the number of completions of the job, and is 3; this is the pod of index 3",
		"-1": "SHARDS must be", "08": "SHARDS must be", "x": "SHARDS must be",
	} {
		out, status := play(index)
		says(t, out, status, map[bool]int{true: 1, false: 3}[index == ""], want)
	}
	if got := len(must(os.ReadDir(filepath.Join(volume, "parts")))); got != shardCount-1 {
		t.Errorf("a pod that failed has left a directory: there are %d, want %d", got, shardCount-1)
	}
}
