package slack

import "sync"

// maxHalves bounds what is remembered: two events of one post follow each other at
// once. What is forgotten costs a moment of waiting, no file.
const maxHalves = 256

// partialPosts remembers the posts of which the mention was taken and not the message.
type partialPosts struct {
	mu    sync.Mutex
	posts map[thread]bool // by channel and event
}

func (h *partialPosts) add(post thread) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.posts == nil || len(h.posts) >= maxHalves {
		h.posts = map[thread]bool{}
	}
	h.posts[post] = true
}

func (h *partialPosts) has(post thread) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.posts[post]
}
