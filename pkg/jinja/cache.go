package jinja

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

type cacheKey [sha256.Size]byte

func sourceKey(text string) cacheKey { return sha256.Sum256([]byte(text)) }

// defaultCacheEntries is the number of templates a cache keeps when Options do not say.
const defaultCacheEntries = 256

// cache keeps the templates used last.
type cache struct {
	mu      sync.Mutex
	max     int
	entries map[cacheKey]*list.Element
	order   *list.List // of *cacheEntry, the last used first
}

type cacheEntry struct {
	key cacheKey
	tpl *Template
}

func newCache(entries int) *cache {
	if entries <= 0 {
		entries = defaultCacheEntries
	}
	return &cache{max: entries, entries: make(map[cacheKey]*list.Element), order: list.New()}
}

func (c *cache) get(key cacheKey) *Template {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.entries[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(el)
	return el.Value.(*cacheEntry).tpl
}

func (c *cache) put(key cacheKey, t *Template) {
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
