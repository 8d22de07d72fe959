package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/telegram"
)

// from is a message of a person's own chat.
func from(id, person int) string {
	return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1,"chat":{"id":%d,"type":"private"},"from":{"id":%d},"text":"%d"}}`, id, id, person, person, id)
}

func TestAfterARefusalNothingOfTheChatIsTakenBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := map[string]bool{}
		var took []string
		s := serve(t, func(_ context.Context, m channels.Message) error {
			if full[m.Text] {
				return errors.New("full")
			}
			took = append(took, m.Text)
			return nil
		})
		defer s.stop()
		step := func(what, update string, want int) {
			t.Helper()
			if got := s.post(update); got != want {
				t.Errorf("%s: %d, want %d", what, got, want)
			}
		}
		full["5"], full["4"] = true, true
		step("refused", from(5, 7), 503)
		step("a later one", from(6, 7), 503)
		step("another chat", from(7, 8), 200)
		step("an earlier one, refused too", from(4, 7), 503)
		full["4"] = false
		step("the earlier one again", from(4, 7), 200)
		step("still before the first", from(6, 7), 503)
		full["5"] = false
		step("the first again", from(5, 7), 200)
		step("the later one again", from(6, 7), 200)
		if want := []string{"7", "4", "5", "6"}; !slices.Equal(took, want) {
			t.Errorf("took %v, want %v", took, want)
		}

		full["9"] = true
		step("refused", from(9, 7), 503)
		time.Sleep(3*time.Minute - time.Second)
		step("within three minutes", from(10, 7), 503)
		time.Sleep(2 * time.Second)
		step("an update that Telegram gave up holds up nobody for ever", from(10, 7), 200)
	})
}

func TestUpdatesOfOneChatAreTakenOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		inside := map[string]int{}
		s := serve(t, func(_ context.Context, m channels.Message) error {
			mu.Lock()
			inside[m.Address.Peer]++
			mu.Unlock()
			<-release
			mu.Lock()
			inside[m.Address.Peer]--
			mu.Unlock()
			return nil
		})
		defer s.stop()
		var posts sync.WaitGroup
		for id := 1; id <= 4; id++ {
			posts.Go(func() {
				if got := s.post(from(id, 7+id%2)); got != 200 {
					t.Errorf("%d: %d", id, got)
				}
			})
		}
		for range 2 {
			synctest.Wait()
			mu.Lock()
			if inside["7"] != 1 || inside["8"] != 1 {
				t.Errorf("inside are %v", inside)
			}
			mu.Unlock()
			release <- struct{}{}
			release <- struct{}{}
		}
		posts.Wait()
	})
}

func TestAnUpdateThatIsNotStoredInTimeIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(ctx context.Context, _ channels.Message) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		defer s.stop()
		begun := time.Now()
		if got := s.post(from(1, 7)); got != 503 {
			t.Errorf("%d", got)
		}
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("after %s", took)
		}
	})
}

func TestRow06_NothingOfTheNewGroupIsTakenBeforeTheMoveThatWasRefused(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]string{
		"told in the old group": `{"update_id":5,"message":{"message_id":1,"date":1,"chat":{"id":-7,"type":"group"},"from":{"id":7},"migrate_to_chat_id":-1007}}`,
		"told in the new group": `{"update_id":5,"message":{"message_id":1,"date":1,"chat":{"id":-1007,"type":"supergroup"},"sender_chat":{"id":-1007,"type":"supergroup"},"from":{"id":1087968824},"migrate_from_chat_id":-7}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full := true
			var took []string
			s := serve(t, func(_ context.Context, m channels.Message) error {
				if full {
					return errors.New("full")
				}
				took = append(took, string(m.Kind)+" "+m.Address.Peer+" "+m.MovedTo)
				return nil
			})
			defer s.stop()
			in := func(id int, chat, kind string) string {
				return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1,"chat":{"id":%s,"type":"%s"},"from":{"id":7},"text":"hi"}}`, id, id, chat, kind)
			}
			step := func(update string, want int) {
				t.Helper()
				if got := s.post(update); got != want {
					t.Errorf("%d, want %d, for %s", got, want, update)
				}
			}
			step(move, 503)
			full = false
			step(in(6, "-1007", "supergroup"), 503)
			step(in(6, "-7", "group"), 503)
			step(move, 200)
			step(in(6, "-1007", "supergroup"), 200)
			if want := []string{"migrated -7 -1007", "message -1007 "}; !slices.Equal(took, want) {
				t.Errorf("took %q, want %q", took, want)
			}
		})
	}
}

// The same for what one poll brings: in a batch the chats go side by side.
func TestRow06_InABatchNothingOfTheNewGroupIsTakenBeforeTheMove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{poll: func(ctx context.Context, n int) (*http.Response, error) {
			if n > 0 {
				return hang(ctx)
			}
			in := func(id int, chat, more string) string {
				return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1,"chat":%s,"from":{"id":7,"first_name":"Ann"},%s}}`, id, id, chat, more)
			}
			const before, now = `{"id":-500,"type":"group"}`, `{"id":-1007,"type":"supergroup"}`
			return batch(in(5, before, `"migrate_to_chat_id":-1007`), in(6, now, `"text":"hi"`), in(7, now, `"migrate_from_chat_id":-500`)), nil
		}}
		var mu sync.Mutex
		var got []string
		refuse := 2
		err := receiveFor(t, s, time.Minute, telegram.Options{Common: channels.Common{MinPause: time.Second, MaxPause: time.Second}}, func(_ context.Context, m channels.Message) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, m.Event)
			if m.Event == "5" && refuse > 0 {
				refuse--
				return errors.New("disk full")
			}
			return nil
		})
		if want := "5 5 5 6 7"; err != nil || strings.Join(got, " ") != want {
			t.Errorf("offered %v, want %s; %v", got, want, err)
		}
	})
}
