package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/runtest"
	"parley/simulators/model"
	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// phone is the telephone of a person who writes to the bot over a simulated network.
type phone struct {
	api   string   // lines of the account's configuration that say where the network's server is
	env   []string // with the secrets of the account
	write func(text string) error
	// await waits until the bot has said what find finds, and returns its group.
	await func(ctx context.Context, find *regexp.Regexp) (string, error)
}

// Each network's part of docs/quickstart.md leads to an answer and its price, with the commands that
// stand there. Only where the servers are is added to its configuration.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	for network, connect := range map[string]func(*testing.T) phone{"Telegram": telegramPhone, "Slack": slackPhone, "Signal": signalPhone} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			_, part, _ := strings.Cut(string(page), "\n### "+network+"\n")
			_, part, _ = strings.Cut(part, "\n```yaml\n")
			text, _, ok := strings.Cut(part, "```\n")
			if !ok {
				t.Fatalf("the page has no configuration for %s", network)
			}
			_, m := sims(t, model.Echo)
			ph := connect(t)
			text = strings.Replace(text, "    main:\n", "    main:\n"+ph.api, 1)
			text = strings.Replace(text, "  anthropic:\n", "  anthropic:\n    base_url: "+m.URL()+"\n", 1) + "ops: {listen: \"127.0.0.1:0\"}\n"
			dir, err := os.MkdirTemp("", "qs") // the path of a socket is short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			file := filepath.Join(dir, "parley.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			hear := func(find string) string {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				got, err := ph.await(ctx, regexp.MustCompile(find))
				if err != nil {
					t.Fatalf("waiting for %s: %v", find, err)
				}
				return got
			}
			write := func(text string) {
				t.Helper()
				if err := ph.write(text); err != nil {
					t.Fatal(err)
				}
			}

			secret := "ANTHROPIC_API_KEY=" + key
			if network == "Slack" { // before there is an app, so before its tokens
				start(t, []string{secret}, "slack", "manifest", "-c", file).await(`"socket_mode_enabled": true`)
			}
			env, code := append(ph.env, secret), ""
			for _, command := range commandsFrom(string(page), "\n## 4. Start it\n") {
				args := append(strings.Fields(strings.ReplaceAll(command, "CODE", code)), "-c", file)
				switch command {
				case "check-config":
					start(t, env, args...).await(": ok")
				case "doctor":
					start(t, env, args...).await("ok       model.listed") // of the simulated app and telephone it has something to say
				case "run":
					start(t, env, args...).err.awaitLines(t, 1, "gateway started")
					write("hello")
					code = hear(`give them this code, within 24 hours: (\w{8})`)
				case "pair approve CODE":
					if out := saidOf(t, args...); !strings.Contains(out, " may talk to main") {
						t.Errorf("pair approve: %s", out)
					}
					write("hello again")
					hear(`^(hello again)$`)
					write("/cost")
					hear(`This conversation: (\$0\.000\d)`)
				case "usage --by person,model":
					if out := saidOf(t, args...); !regexp.MustCompile(`(?m)^main/\S+ +anthropic/claude-haiku-5-5 +1 +\$0\.000\d+ `).MatchString(out) {
						t.Errorf("usage:\n%s", out)
					}
				default:
					t.Errorf("this test does not know what %q does", command)
				}
			}
			if code == "" {
				t.Error("the page does not start parley")
			}
		})
	}
}

// commandsFrom returns what a page has parley do from a heading on, one line for each.
func commandsFrom(page, heading string) (all []string) {
	_, part, _ := strings.Cut(page, heading)
	for _, m := range regexp.MustCompile(`(?m)^ {4}\./parley (.*)$`).FindAllStringSubmatch(part, -1) {
		all = append(all, m[1])
	}
	return all
}

// firstGroup returns the group of find in the latest of texts that has it.
func firstGroup(find *regexp.Regexp, texts []string) string {
	for i := len(texts) - 1; i >= 0; i-- {
		if m := find.FindStringSubmatch(texts[i]); m != nil {
			return m[1]
		}
	}
	return ""
}

func telegramPhone(t *testing.T) phone {
	t.Helper()
	tg, _ := sims(t, model.Echo)
	return phone{
		api: "      api_url: " + tg.URL() + "\n", env: []string{"TELEGRAM_TOKEN=" + token},
		write: func(text string) error {
			_, err := tg.Say(telegram.PrivateChat(ann), ann, text, telegram.SayOptions{})
			return err
		},
		await: func(ctx context.Context, find *regexp.Regexp) (got string, err error) {
			_, err = tg.Await(ctx, func(b telegram.Book) bool {
				var texts []string
				for _, m := range b.Messages {
					texts = append(texts, m.Text())
				}
				got = firstGroup(find, texts)
				return got != ""
			})
			return got, err
		},
	}
}

func slackPhone(t *testing.T) phone {
	t.Helper()
	s, err := slack.New(slack.Options{
		Apps:    []slack.App{{Name: "parley", BotToken: "xoxb-quick", AppToken: "xapp-quick", AgentView: true}},
		Retries: []time.Duration{100 * time.Millisecond, time.Second, time.Second, 5 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	runtest.Serve(t, s)
	ann, thread := slack.Person{ID: "U0ANN", Name: "ann", RealName: "Ann"}, ""
	return phone{
		api: "      api_url: " + s.APIURL() + "\n", env: []string{"SLACK_BOT_TOKEN=xoxb-quick", "SLACK_APP_TOKEN=xapp-quick"},
		write: func(text string) error {
			said, err := s.Say(slack.DM(ann), ann, text, slack.SayOptions{ThreadTS: thread})
			if thread == "" {
				thread = said.TS
			}
			return err
		},
		await: func(ctx context.Context, find *regexp.Regexp) (got string, err error) {
			_, err = s.Await(ctx, func(b slack.Book) bool {
				var texts []string
				for _, m := range b.Messages {
					texts = append(texts, m.Text())
				}
				got = firstGroup(find, texts)
				return got != ""
			})
			return got, err
		},
	}
}

func signalPhone(t *testing.T) phone {
	t.Helper()
	const number = "+4915550000001"
	s, err := signal.New(signal.Options{Accounts: []signal.Account{{Number: number, ACI: "b0700000-0000-4000-8000-000000000001", Name: "Parley"}}})
	if err != nil {
		t.Fatal(err)
	}
	runtest.Serve(t, s)
	ann := signal.Person{ACI: signal.MadeUpACI(1), Name: "Ann"}
	return phone{
		api: "      command: [parley, sim, signal-cli, --world, \"" + s.URL() + "\"]\n",
		write: func(text string) error {
			_, err := s.Say(signal.Chat{}, ann, text, signal.SayOptions{})
			return err
		},
		await: func(ctx context.Context, find *regexp.Regexp) (got string, err error) {
			_, err = s.Await(ctx, func(b signal.Book) bool {
				var texts []string
				for _, m := range b.Messages {
					texts = append(texts, m.Text())
				}
				got = firstGroup(find, texts)
				return got != ""
			})
			return got, err
		},
	}
}
