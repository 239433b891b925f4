package jinja

import (
	"math/rand/v2"
	"strings"
)

var lipsumWords = strings.Fields(`a ac accumsan ad adipiscing aenean aliquam amet ante aptent arcu at auctor augue
	bibendum blandit class commodo condimentum congue consectetuer conubia convallis cras cubilia cum curabitur
	curae cursus dapibus diam dictum dignissim dis dolor donec dui duis egestas eget eleifend elementum elit enim
	erat eros est et etiam eu euismod facilisi fames faucibus felis fermentum feugiat fringilla fusce gravida
	habitant hendrerit hymenaeos iaculis id imperdiet in inceptos integer interdum ipsum justo lacinia lacus
	laoreet lectus leo libero ligula litora lobortis lorem luctus maecenas magna massa mattis mauris metus mi
	mollis morbi nam nec neque netus nibh nisi nisl non nulla nullam nunc odio orci ornare parturient pede
	pharetra placerat porta posuere potenti pretium primis proin purus quam quis quisque rhoncus risus rutrum
	sagittis sapien scelerisque sed sem semper sit sociis sodales sollicitudin suscipit tellus tempor tempus
	tincidunt torquent tortor tristique turpis ullamcorper ultrices urna ut varius vehicula vel velit vestibulum
	vitae vivamus viverra volutpat vulputate`)

// lipsum returns n paragraphs of filler text.
func lipsum(rt *state, a []Value) (Value, error) {
	n, err := intArg(a[0], 5)
	if err != nil {
		return nil, err
	}
	lo, err := intArg(a[2], 20)
	if err != nil {
		return nil, err
	}
	hi, err := intArg(a[3], 100)
	if err != nil {
		return nil, err
	}
	asHTML := true
	if a[1] != nil {
		if asHTML, err = truthy(rt, a[1]); err != nil {
			return nil, err
		}
	}
	if n > 0 && hi <= lo {
		return nil, valueErr("empty range for randrange()")
	}
	var paragraphs []string
	for range max(n, 0) {
		words := lo + rand.IntN(hi-lo)
		if err := rt.work(words + 1); err != nil {
			return nil, err
		}
		if err := rt.charge(max(words, 0)*32 + 32); err != nil {
			return nil, err
		}
		p := lipsumParagraph(words)
		if asHTML {
			p = "<p>" + p + "</p>"
		}
		paragraphs = append(paragraphs, p)
	}
	if asHTML {
		return markupValue(strings.Join(paragraphs, "\n")), nil
	}
	return strValue(strings.Join(paragraphs, "\n\n")), nil
}

func lipsumParagraph(n int) string {
	var b strings.Builder
	start := true
	for i := range n {
		w := lipsumWords[rand.IntN(len(lipsumWords))]
		if start {
			w = capitalize(w)
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		switch start = i%11 == 10 && i < n-1; {
		case start:
			b.WriteByte('.')
		case i%5 == 4 && i < n-1:
			b.WriteByte(',')
		}
	}
	b.WriteByte('.')
	return b.String()
}
