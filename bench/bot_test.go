package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"time"
)

// bot is the least that answers: a long poll, one call of the model, one
// message. With a journal it is the durable one.
type bot struct {
	telegram, model string
	http            *http.Client
	journal         *journal // nil: naked
	wg              sync.WaitGroup

	mu    sync.Mutex
	chats map[int64]*chat // of the durable one
}

// chat is a conversation of the durable bot. history belongs to whoever has set
// busy.
type chat struct {
	queue   []update // guarded by bot.mu
	busy    bool     // guarded by bot.mu
	history []said
}

type said struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type update struct {
	ID      int64 `json:"update_id"`
	Message struct {
		Text string `json:"text"`
		Chat struct {
			ID int64 `json:"id"`
		} `json:"chat"`
	} `json:"message"`
}

func newBot(p plan, j *journal) *bot {
	model := "/v1/messages"
	if p.Chat {
		model = "/v1/chat/completions"
	}
	return &bot{
		telegram: p.Telegram + "/bot" + token + "/", model: p.Model + model, journal: j,
		http:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4096}},
		chats: map[int64]*chat{},
	}
}

func (b *bot) run(ctx context.Context, ready func()) error {
	defer b.wg.Wait()
	ready()
	var offset int64
	for ctx.Err() == nil {
		var us []update
		if err := b.call(ctx, "getUpdates", map[string]any{"offset": offset, "timeout": 50, "limit": 100}, &us); err != nil {
			if ctx.Err() == nil {
				return err
			}
			return nil
		}
		if b.journal != nil && len(us) > 0 {
			if err := b.journal.append(us); err != nil {
				return err
			}
		}
		for _, u := range us {
			offset = u.ID + 1
			b.take(u)
		}
	}
	return nil
}

func (b *bot) take(u update) {
	if b.journal == nil {
		b.wg.Go(func() {
			if _, err := b.answer(u, nil); err != nil {
				log.Print(err)
			}
		})
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.chats[u.Message.Chat.ID]
	if c == nil {
		c = &chat{}
		b.chats[u.Message.Chat.ID] = c
	}
	c.queue = append(c.queue, u)
	if !c.busy {
		c.busy = true
		b.wg.Go(func() { b.work(c) })
	}
}

// work answers one chat's messages in their order until none waits.
func (b *bot) work(c *chat) {
	for {
		b.mu.Lock()
		if len(c.queue) == 0 {
			c.busy = false
			b.mu.Unlock()
			return
		}
		u := c.queue[0]
		c.queue = c.queue[1:]
		b.mu.Unlock()
		history, err := b.answer(u, c.history)
		if err != nil {
			log.Print(err)
			continue
		}
		c.history = history
	}
}

// answer asks the model and sends what it says.
func (b *bot) answer(u update, history []said) ([]said, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	history = append(history, said{"user", u.Message.Text})
	text, err := b.ask(ctx, history)
	if err != nil {
		return nil, err
	}
	if b.journal != nil {
		if err := b.journal.append(map[string]any{"update": u.ID, "answer": text}); err != nil {
			return nil, err
		}
	}
	err = b.call(ctx, "sendMessage", map[string]any{"chat_id": u.Message.Chat.ID, "text": text}, nil)
	return append(history, said{"assistant", text}), err
}

func (b *bot) ask(ctx context.Context, messages []said) (string, error) {
	var a struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Choices []struct { // of Chat Completions
			Message said `json:"message"`
		} `json:"choices"`
	}
	err := b.post(ctx, b.model, map[string]any{"model": "demo", "max_tokens": 8192, "messages": messages}, &a)
	if err != nil {
		return "", err
	}
	switch {
	case len(a.Content) > 0:
		return a.Content[0].Text, nil
	case len(a.Choices) > 0:
		return a.Choices[0].Message.Content, nil
	}
	return "", fmt.Errorf("the model said nothing")
}

// call calls a method of the Bot API.
func (b *bot) call(ctx context.Context, method string, in, out any) error {
	var a struct {
		Result json.RawMessage `json:"result"`
	}
	if err := b.post(ctx, b.telegram+method, in, &a); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.Result, out)
}

func (b *bot) post(ctx context.Context, url string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("X-Api-Key", "none")
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s: %s", resp.Status, body)
	}
	return json.Unmarshal(body, out)
}
