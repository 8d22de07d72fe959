package deploy_test

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type kustomization struct {
	APIVersion         string `yaml:"apiVersion"`
	Kind               string
	Resources          []string
	ConfigMapGenerator []struct {
		Name, Behavior string
		Files          []string
	} `yaml:"configMapGenerator"`
	GeneratorOptions struct {
		DisableNameSuffixHash bool `yaml:"disableNameSuffixHash"`
	} `yaml:"generatorOptions"`
	Labels []struct {
		Pairs            map[string]string
		IncludeSelectors bool `yaml:"includeSelectors"`
		IncludeTemplates bool `yaml:"includeTemplates"`
	}
	Patches []struct{ Path string }
	Images  []struct {
		Name    string
		NewName string `yaml:"newName"`
		NewTag  string `yaml:"newTag"`
	}
}

// pods is what the test looks at of a StatefulSet.
type pods struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Replicas int
		Template struct{ Spec podSpec }
		Claims   []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
	}
}

type podSpec struct {
	Grace      int `yaml:"terminationGracePeriodSeconds"`
	Containers []struct {
		Name, Image string
		Args        []string
		Env         []struct{ Name, Value string }
		Ports       []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
	Volumes []struct {
		Name  string
		Claim struct {
			Name string `yaml:"claimName"`
		} `yaml:"persistentVolumeClaim"`
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Secret    struct {
			Name string `yaml:"secretName"`
		}
	}
}

// documents decodes each document of a file.
func documents[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(read(t, name))); ; {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, v)
	}
}

func TestEachFileForKubernetesIsUsed(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"kubernetes/base", "kubernetes/workers"} {
		var k kustomization
		decode(t, dir, read(t, filepath.Join(dir, "kustomization.yaml")), &k)
		used := []string{"kustomization.yaml"}
		for _, r := range k.Resources {
			if r != "../base" {
				used = append(used, r)
			}
		}
		for _, p := range k.Patches {
			used = append(used, p.Path)
		}
		for _, g := range k.ConfigMapGenerator {
			used = append(used, g.Files...)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var there []string
		for _, e := range entries {
			there = append(there, e.Name())
		}
		if slices.Sort(used); !slices.Equal(used, there) {
			t.Errorf("%s: used are %q, there are %q", dir, used, there)
		}
		// parley looks for a change of its configuration, and is not restarted for it.
		if !k.GeneratorOptions.DisableNameSuffixHash || !load(t, filepath.Join(dir, "parley.yaml"), map[string]string{"PARLEY_REDIS": "redis://redis:6379/0"}).Reload.Watch {
			t.Errorf("%s: nobody takes up a changed configuration", dir)
		}
	}
}

func TestPods(t *testing.T) {
	t.Parallel()
	base := documents[pods](t, "kubernetes/base/statefulset.yaml")[0]
	workers := documents[pods](t, "kubernetes/workers/workers.yaml")[0]
	patch := documents[pods](t, "kubernetes/workers/gateway.yaml")[0]
	claim := documents[pods](t, "kubernetes/workers/workspaces.yaml")[0]
	for _, p := range []pods{base, workers} {
		s := p.Spec.Template.Spec
		if p.Kind != "StatefulSet" || len(s.Containers) != 1 || float64(s.Grace) < grace.Seconds()+20 {
			t.Fatalf("%s: a %s of %d containers, with %d s to end", p.Metadata.Name, p.Kind, len(s.Containers), s.Grace)
		}
		c := s.Containers[0]
		if c.Image != "parley" || len(c.Ports) != 1 || c.Ports[0].Name != "ops" || c.Ports[0].ContainerPort != 9464 {
			t.Errorf("%s: image %s, ports %v", p.Metadata.Name, c.Image, c.Ports)
		}
		have := map[string]bool{}
		for _, v := range s.Volumes {
			have[v.Name] = true
			if v.Claim.Name != "" && v.Claim.Name != claim.Metadata.Name || v.ConfigMap.Name+v.Secret.Name != "" && v.ConfigMap.Name+v.Secret.Name != "parley" {
				t.Errorf("%s: nobody makes what the volume %s is", p.Metadata.Name, v.Name)
			}
		}
		for _, v := range p.Spec.Claims {
			have[v.Metadata.Name] = true
		}
		mounted := map[string]string{}
		for _, m := range c.VolumeMounts {
			mounted[m.MountPath] = m.Name
			if !have[m.Name] {
				t.Errorf("%s mounts %s, which is no volume", p.Metadata.Name, m.Name)
			}
		}
		if len(mounted) != len(have) {
			t.Errorf("%s: volumes %q, mounts %q", p.Metadata.Name, slices.Sorted(maps.Keys(have)), mounted)
		}
		for _, path := range []string{filepath.Dir(configFile), secretFolder, stateFolder, "/tmp"} {
			if mounted[path] == "" {
				t.Errorf("%s has nothing at %s", p.Metadata.Name, path)
			}
		}
	}
	if patch.Metadata.Name != base.Metadata.Name || base.Spec.Replicas != 1 {
		t.Errorf("the patch is of %s; the base has %d replicas", patch.Metadata.Name, base.Spec.Replicas)
	}
	// Each process with the configuration that it has, and its roles.
	for _, c := range []struct {
		file string
		pods pods
		role string
	}{{"base", base, ""}, {"workers", patch, "gateway"}, {"workers", workers, "worker"}} {
		container := c.pods.Spec.Template.Spec.Containers[0]
		vars := map[string]string{}
		for _, e := range container.Env {
			vars[e.Name] = e.Value
		}
		want, roles := []string{"run", "--config", configFile}, []string(nil)
		if c.role != "" {
			want, roles = append(want, "--role", c.role), []string{c.role}
		}
		if !slices.Equal(container.Args, want) {
			t.Errorf("%s runs %q", c.pods.Metadata.Name, container.Args)
		}
		if cfg := load(t, "kubernetes/"+c.file+"/parley.yaml", vars, roles...); cfg.Ops.Listen != "0.0.0.0:9464" || !cfg.Ops.Public {
			t.Errorf("%s: ops %+v", c.file, cfg.Ops)
		}
		for name := range secretsIn(read(t, "kubernetes/"+c.file+"/parley.yaml")) {
			if !strings.Contains(read(t, "kubernetes/"+c.file+"/kustomization.yaml"), "--from-file="+name) {
				t.Errorf("%s does not say that the secret %s is needed", c.file, name)
			}
		}
	}
}
