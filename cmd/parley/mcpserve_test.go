package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"parley/simulators/model"
	"parley/simulators/telegram"
)

// asking is a parley mcp serve that a program has started.
type asking struct {
	*process
	calls int
}

func serve(t *testing.T, config string) *asking {
	t.Helper()
	a := &asking{process: start(t, environment, "mcp", "serve", "-c", config)}
	a.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}`)
	_, _ = io.WriteString(a.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return a
}

// request asks the server, and returns its answer.
func (a *asking) request(method, params string) string {
	a.t.Helper()
	a.calls++
	if _, err := fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", a.calls, method, params); err != nil {
		a.t.Fatal(err)
	}
	return a.await(fmt.Sprintf(`"id":%d,`, a.calls))
}

// call calls a tool, and returns the answer, or the error that the program reads.
func (a *asking) call(tool, arguments string) string {
	a.t.Helper()
	line := a.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Content) != 1 {
		a.t.Fatalf("%s: %v", line, err)
	}
	return m.Result.Content[0].Text
}

// withTasks is in the requests of a program that knows tasks.
const withTasks = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"agent","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// A program asks a person, by a tool and as a task. Then program, server and gateway are killed. The
// next server returns the answer that the person gave meanwhile, to the tool and to the task, and the
// person is not asked twice. (docs/decisions/0099, 0117)
func TestAProgramAsksAPersonOverTheEndOfEverything(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, `mcp: {serve: {people: [{name: ann, about: on duty, account: tg, person: "1001"}]}}`+"\n"...)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	const question = `{"key":"deploy 7","person":"ann","question":"May I deploy?","choices":["yes","no"],"wait_seconds":%d}`
	a := serve(t, config)
	if said := a.call("ask_person", fmt.Sprintf(question, 0)); !strings.Contains(said, "parley is not running at the moment") {
		t.Errorf("without a gateway: %s", said)
	}
	gw := start(t, environment, "run", "--config", config)
	gw.err.awaitLines(t, 1, "gateway started")
	say(t, tg, "hello")
	await(t, tg, "the answer to Ann", answer("hello"))
	if said := a.call("list_people", "{}"); !strings.Contains(said, `{"about":"on duty","name":"ann"}`) && !strings.Contains(said, `{"name":"ann","about":"on duty"}`) {
		t.Errorf("people: %s", said)
	}
	if said := a.call("ask_person", fmt.Sprintf(question, 0)); !strings.Contains(said, `"state":"waiting"`) {
		t.Errorf("asked: %s", said)
	}
	var begun struct {
		Result struct{ ResultType, TaskID, Status string }
	}
	if line := a.request("tools/call", `{"name":"ask_person","arguments":{"key":"deploy 7","person":"ann","question":"May I deploy?","choices":["yes","no"]},`+withTasks+`}`); json.Unmarshal([]byte(line), &begun) != nil || begun.Result.ResultType != "task" || begun.Result.Status != "working" {
		t.Errorf("asked as a task: %s", line)
	}
	var asked telegram.MessageEntry
	await(t, tg, "the question", func(b telegram.Book) bool {
		for _, m := range b.Messages {
			if strings.Contains(m.Text(), "asked by a program") {
				asked = m
			}
		}
		return asked.MessageID != 0
	})
	gw.end(syscall.SIGKILL)
	a.end(syscall.SIGKILL)
	code, _, _ := strings.Cut(strings.TrimPrefix(asked.Text(), "❓ Question "), ",")
	if _, err := tg.Press(ann, ann.ID, asked.MessageID, "/answer "+code+" 2", telegram.PressOptions{}); err != nil {
		t.Fatal(err)
	}
	a = serve(t, config)
	start(t, environment, "run", "--config", config).err.awaitLines(t, 1, "gateway started")
	if said := a.call("ask_person", fmt.Sprintf(question, 60)); !strings.Contains(said, `"answer":"no"`) {
		t.Errorf("asked again: %s", said)
	}
	if said := a.call("answer_of", `{"key":"deploy 7","wait_seconds":0}`); !strings.Contains(said, `"state":"answered"`) {
		t.Errorf("looked up: %s", said)
	}
	if line := a.request("tasks/get", fmt.Sprintf(`{"taskId":%q,%s}`, begun.Result.TaskID, withTasks)); !strings.Contains(line, `"resultType":"complete"`) || !strings.Contains(line, `"status":"completed"`) || !strings.Contains(line, `"answer":"no"`) {
		t.Errorf("the task: %s", line)
	}
	await(t, tg, "that the answer arrived", answer("Thank you. The program that asked "+code+" gets your answer: no"))
	times := 0
	for _, m := range tg.Books().Messages {
		if strings.HasPrefix(m.Text(), "❓ Question") { // what says that it may be a repeat begins otherwise
			times++
		}
	}
	if times != 1 {
		t.Errorf("Ann was asked %d times", times)
	}
	if err := a.in.Close(); err != nil {
		t.Fatal(err)
	}
	for line := range a.lines {
		t.Errorf("it says %s", line)
	}
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("it ends with %v when its program does", err)
	}
}
