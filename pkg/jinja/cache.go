package jinja

import (
	"container/list"
	"sync"
)

// defaultCacheEntries is the capacity of a cache without Options.CacheEntries.
const defaultCacheEntries = 256

// cache holds the most recently used programs by their source.
type cache[P any] struct {
	mu      sync.Mutex
	max     int
	entries map[string]*list.Element
	order   *list.List // of *cacheEntry[P], the last used first
}

type cacheEntry[P any] struct {
	key     string
	program P
}

func newCache[P any](entries int) *cache[P] {
	if entries <= 0 {
		entries = defaultCacheEntries
	}
	return &cache[P]{max: entries, entries: make(map[string]*list.Element), order: list.New()}
}

// compile returns the program of a source, which it compiles unless it has it. It does not keep errors.
func (c *cache[P]) compile(source string, compile func(string) (P, error)) (P, error) {
	if program, ok := c.get(source); ok {
		return program, nil
	}
	program, err := compile(source)
	if err == nil {
		c.put(source, program)
	}
	return program, err
}

func (c *cache[P]) get(key string) (program P, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.entries[key]
	if !ok {
		return program, false
	}
	c.order.MoveToFront(el)
	return el.Value.(*cacheEntry[P]).program, true
}

func (c *cache[P]) put(key string, program P) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[key]; ok {
		c.order.MoveToFront(el)
		return
	}
	c.entries[key] = c.order.PushFront(&cacheEntry[P]{key, program})
	for c.order.Len() > c.max {
		last := c.order.Back()
		delete(c.entries, last.Value.(*cacheEntry[P]).key)
		c.order.Remove(last)
	}
}
