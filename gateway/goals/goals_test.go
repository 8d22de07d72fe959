package goals_test

import (
	"strings"
	"testing"
	"time"

	"parley/gateway/goals"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// AD02, AD04, defect 8 of the requirements: whole words of the last sentence, not taken back.
func TestAnAnswerSaysThatItIsDone(t *testing.T) {
	t.Parallel()
	phrases := goals.Config{}.Defaults().CompletionPhrases
	for text, want := range map[string]bool{
		"Done.": true, "done": true, "Done!": true, "**Done.**": true, "All done ✅": true, "I am finished.": true, "Task complete.": true,
		"The report is completed.": true, "I looked at it. It took a while.\n\nEverything is done.": true, "Finished: the files are in place.": true,
		"It was not easy. Now it is done.": true, "I couldn’t believe it! Done.": true, "I have finished, with no errors.": true, "- step one\n- done": true,
		"TASK COMPLETE": true, "The work is done (all 3 files).": true, "Is that right? Yes. It's done.": true,

		"": false, "I abandoned it.": false, "It is unfinished.": false, "I have not finished.": false, "I haven't finished.": false, "I haven’t finished.": false,
		"Not done yet.": false, "It isn't done.": false, "done?": false, "Shall I say that it is done?": false, "Done. Shall I go on?": false, "It is done. Two tests fail.": false,
		"Nothing is done.": false, "It is never finished.": false, "It is almost done.": false, "half-done": false, "Once it is done I tell you.": false,
		"It will be done.": false, "I'll be done soon.": false, "This has to be completed.": false, "It can be done.": false, "Done, but two tests fail.": false,
		"It is done only partly, not for all.": false, "I have completed three of them, except the last.": false, "Well done!": false,
		"The status is `done`.": false, "It says “finished”.": false, "```\ndone\n```": false, "> done": false, "The column is called done_at.": false,
		"I failed; nothing was completed.": false, "The condone list": false, "undone": false, "The task completes.": false, "No task was completed.": false,
	} {
		if got := goals.Says(text, phrases); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if goals.Says("Done.", nil) || !goals.Says("Ship it!", []string{"ship it"}) {
		t.Error("other phrases")
	}
}

// TX28, AD01: the states and what leads from one to another.
func TestStatesOfAGoal(t *testing.T) {
	t.Parallel()
	none, active := goals.Goal{}, goals.Goal{State: goals.Active, Text: "paint it", Since: noon}
	reached := goals.Goal{State: goals.Completed, Text: "paint it", Since: noon}
	set := func(text string) func(goals.Goal) goals.Goal {
		return func(g goals.Goal) goals.Goal { return g.Set(text, noon) }
	}
	hear := func(g goals.Goal) goals.Goal { return g.Heard("wash it", noon) }
	complete := func(g goals.Goal) goals.Goal { g, _ = g.Complete(noon); return g }
	washed := goals.Goal{State: goals.Active, Text: "wash it", Since: noon}
	for _, c := range []struct {
		name string
		from goals.Goal
		do   func(goals.Goal) goals.Goal
		want goals.Goal
	}{
		{"/goal begins", none, set("paint it"), active},
		{"/goal replaces", active, set("wash it"), washed},
		{"/goal begins anew", reached, set("wash it"), washed},
		{"/goal of nothing", active, set(" \n"), active},
		{"a message begins", none, hear, washed},
		{"a message leaves an active one", active, hear, active},
		{"a message begins anew", reached, hear, washed},
		{"completion", active, complete, reached},
		{"completion of nothing", none, complete, none},
		{"completion again", reached, complete, reached},
	} {
		if got := c.do(c.from); got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	long := none.Set("a `b`\nc\u202e "+strings.Repeat("x", 400), noon)
	if n := len([]rune(long.Text)); n != goals.MaxText+1 || strings.ContainsAny(long.Text, "\n\u202e") || !strings.Contains(long.String(), "`a 'b' c x") {
		t.Errorf("%d characters: %s", n, long)
	}
}

func TestConfigReportsWhatHasNoEffect(t *testing.T) {
	t.Parallel()
	bad := goals.Config{Off: true, TrackInSystemPrompt: true, FromMessages: true, CompletionPhrases: []string{"a", "a", "!"}}
	err := bad.Validate()
	for _, path := range []string{"track_in_system_prompt", "from_messages", "completion_phrases[1]", "completion_phrases[2]"} {
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s is not in %v", path, err)
		}
	}
	if err := (goals.Config{}).Defaults().Validate(); err != nil {
		t.Error(err)
	}
}
