package blocks

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
)

// checkDestination refuses another destination for secrets that the request does not send: whoever uses the block next
// would send them there. Callers who may read the secrets may also send them elsewhere.
func (s *Service) checkDestination(ctx context.Context, ws uuid.UUID, before, after *jsontree.Object, unsent []string) error {
	if len(unsent) == 0 {
		return nil
	}
	field := changedDestination("", before, after)
	if field == "" {
		return nil
	}
	if may, err := s.readsSecrets(ctx, ws); may || err != nil {
		return err
	}
	return rpc.Invalid(rpc.BodyError("value_error", fmt.Sprintf(
		"Value error, %s decides where the block's secrets are sent. Send them again with it (%s), or let somebody change it who may read them.",
		field, strings.Join(unsent, ", ")), "data"))
}

// changedDestination returns the name of a destination that differs between two versions of a value, empty without one.
func changedDestination(name string, before, after jsontree.Value) string {
	if jsontree.Equal(before, after) || isEmpty(before) && isEmpty(after) {
		return ""
	}
	if namesDestination(name) || isAddress(before) || isAddress(after) {
		return name
	}
	object, _ := before.(*jsontree.Object)
	other, _ := after.(*jsontree.Object)
	for _, members := range [][]jsontree.Member{object.Members(), other.Members()} {
		for _, m := range members {
			earlier, _ := object.Get(m.Key)
			later, _ := other.Get(m.Key)
			if found := changedDestination(m.Key, earlier, later); found != "" {
				return found
			}
		}
	}
	list, _ := before.(jsontree.List)
	others, _ := after.(jsontree.List)
	for i := range max(len(list), len(others)) {
		var earlier, later jsontree.Value
		if i < len(list) {
			earlier = list[i]
		}
		if i < len(others) {
			later = others[i]
		}
		if found := changedDestination(name, earlier, later); found != "" {
			return found
		}
	}
	return ""
}

// destinationWords are the words in names of fields that decide where a client connects to.
var destinationWords = map[string]bool{
	"account": true, "address": true, "authority": true, "broker": true, "brokers": true, "destination": true, "domain": true, "dsn": true,
	"endpoint": true, "endpoints": true, "gateway": true, "host": true, "hostname": true, "hosts": true, "netloc": true, "port": true,
	"proxies": true, "proxy": true, "registry": true, "server": true, "servers": true, "uri": true, "uris": true, "url": true, "urls": true,
}

// namesDestination reports whether a word of a field's name marks a destination: smtp_server, baseUrl.
func namesDestination(name string) bool {
	var separated strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			separated.WriteByte(' ')
		}
		separated.WriteRune(unicode.ToLower(r))
	}
	words := strings.FieldsFunc(separated.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if slices.Contains(words, "allow") {
		return false // A switch, such as allow_private_urls.
	}
	return slices.ContainsFunc(words, func(word string) bool { return destinationWords[word] })
}

// hostname is a name of at least two labels, with an optional port.
var hostname = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.[A-Za-z]{2,}\.?(:\d+)?$`)

// isAddress reports whether a value is a text with a URL, a host name or an IP address, whatever its field is called.
func isAddress(v jsontree.Value) bool {
	text, _ := v.(string)
	if strings.Contains(text, "://") || hostname.MatchString(text) {
		return true
	}
	_, err := netip.ParseAddr(text)
	_, portErr := netip.ParseAddrPort(text)
	return err == nil || portErr == nil
}
