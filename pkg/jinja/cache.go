package jinja

import (
	"container/list"
	"sync"
)

// defaultCacheEntries is the capacity of a cache without Options.CacheEntries.
const defaultCacheEntries = 256

// cache holds the most recently used templates by their source.
type cache struct {
	mu      sync.Mutex
	max     int
	entries map[string]*list.Element
	order   *list.List // of *cacheEntry, the last used first
}

type cacheEntry struct {
	key string
	tpl *Template
}

func newCache(entries int) *cache {
	if entries <= 0 {
		entries = defaultCacheEntries
	}
	return &cache{max: entries, entries: make(map[string]*list.Element), order: list.New()}
}

func (c *cache) get(key string) *Template {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.entries[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(el)
	return el.Value.(*cacheEntry).tpl
}

func (c *cache) put(key string, t *Template) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[key]; ok {
		c.order.MoveToFront(el)
		return
	}
	c.entries[key] = c.order.PushFront(&cacheEntry{key, t})
	for c.order.Len() > c.max {
		last := c.order.Back()
		delete(c.entries, last.Value.(*cacheEntry).key)
		c.order.Remove(last)
	}
}
