package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const printed = `goos: linux
BenchmarkOneChat/durable-2   	    1500	         0.70 cpu-s/1000turns	         1.000 p50-ms	       900.0 turns/s
BenchmarkOneChat/parley-2    	    1500	         3.0 cpu-s/1000turns	         3.000 p50-ms	       110.0 turns/s
BenchmarkOneChat/parley-2    	    1500	         1.4 cpu-s/1000turns	         1.800 p50-ms	       110.0 turns/s
BenchmarkOneChat/parley-2    	    1500	         0.9 cpu-s/1000turns	         1.200 p50-ms	       110.0 turns/s
BenchmarkManyChats/durable-2 	    2000	         0.2 cpu-s/1000turns	         4000 turns/s
BenchmarkManyChats/parley-2  	    2000	         0.7 cpu-s/1000turns	         1700 turns/s
BenchmarkDeployments/ManyChats/workers=2-2 	    2000	         3.0 cpu-s/1000turns	         2.0 nats-cpu-s/1000turns	         1.05 redis-cpu-s/1000turns
PASS
`

func TestGoals(t *testing.T) {
	t.Parallel()
	t.Run("each is shown beside what was measured", func(t *testing.T) {
		t.Parallel()
		var out strings.Builder
		if err := run(strings.NewReader(printed), &out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), printed) {
			t.Error("what the benchmarks print is not passed on")
		}
		for _, want := range []string{
			"one chat, p50, times durable 4.9 1.8 2 1.5 reached",
			"one chat, processor, ms a turn 4.4 1.4 1.5 1 reached",
			"64 chats, processor, times durable 10.5 3.5 5 3 reached",
			"64 chats, turns a second, share of durable 0.14 0.425 0.3 0.4 aim reached",
			"two workers on NATS and Redis, processor of all, ms a turn 6.7 6.05 3.5 2.5 missed",
			"idle, MB 53 - 40 30",
		} {
			if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) {
				t.Errorf("it does not say %q:\n%s", want, out.String())
			}
		}
	})
	t.Run("each is of benchmarks that there are", func(t *testing.T) {
		t.Parallel()
		files, err := filepath.Glob("../*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		var code strings.Builder
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
		for _, g := range goals {
			for _, path := range []string{g.of, g.by} {
				name, _, _ := strings.Cut(path, "/")
				if path != "" && !strings.Contains(code.String(), "func Benchmark"+name+"(b *testing.B)") {
					t.Errorf("%s: there is no benchmark %s", g.what, name)
				}
			}
		}
	})
	for name, input := range map[string]string{
		"a benchmark that failed is an error": printed + "--- FAIL: BenchmarkIdle\nFAIL\n",
		"no figures are an error":             "PASS\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := run(strings.NewReader(input), &strings.Builder{}); err == nil {
				t.Error("no error")
			}
		})
	}
}
