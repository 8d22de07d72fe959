package telegram_test

import (
	"context"
	"fmt"
	"net/http"

	sim "parley/simulators/telegram"
)

// A person writes, a bot answers over HTTP, and the books tell both.
func Example() {
	s, err := sim.New(sim.Options{Bots: []sim.Bot{{Token: "42:secret", Username: "parley_bot"}}})
	if err != nil {
		panic(err)
	}
	if err := s.Listen(); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()

	ann := sim.Person{ID: 1001, FirstName: "Ann"}
	said, err := s.Say(sim.PrivateChat(ann), ann, "hello", sim.SayOptions{})
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/bot42:secret/sendMessage?chat_id=1001&text=hello+Ann", http.NoBody)
	if err != nil {
		panic(err)
	}
	res, err := client.Do(q)
	if err != nil {
		panic(err)
	}
	_ = res.Body.Close()

	book, err := s.Await(ctx, func(b sim.Book) bool { return b.Totals.Sent == 1 })
	fmt.Println(len(said.Updates), book.Messages[0].Text(), err)
	cancel()
	fmt.Println(<-ended)
	// Output:
	// 1 hello Ann <nil>
	// <nil>
}
