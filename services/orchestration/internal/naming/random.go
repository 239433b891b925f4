package naming

import "math/rand/v2"

// A name is an adjective and a noun that people can say.
var (
	adjectives = []string{
		"amber", "ancient", "azure", "bold", "brave", "bright", "brisk", "calm", "careful", "cheerful", "clever", "copper",
		"cosmic", "crimson", "curious", "daring", "dapper", "eager", "early", "elegant", "famous", "fearless", "fluffy",
		"gentle", "glad", "golden", "graceful", "hasty", "hidden", "honest", "humble", "indigo", "jolly", "keen", "kind",
		"lively", "lucky", "lunar", "mellow", "merry", "mighty", "misty", "modest", "nimble", "noble", "patient", "peaceful",
		"polite", "proud", "quick", "quiet", "rapid", "rustic", "scarlet", "serene", "silent", "silver", "sleepy", "smooth",
		"solar", "steady", "stellar", "sunny", "swift", "tidy", "tranquil", "velvet", "vivid", "wandering", "warm", "witty",
	}
	animals = []string{
		"alpaca", "antelope", "badger", "bat", "bear", "beaver", "bison", "camel", "caribou", "cheetah", "cormorant", "crane",
		"crow", "deer", "dolphin", "dormouse", "eagle", "egret", "elk", "ermine", "falcon", "ferret", "finch", "fox", "gazelle",
		"gecko", "goose", "hare", "hawk", "hedgehog", "heron", "ibex", "jackdaw", "jaguar", "kestrel", "kingfisher", "lark",
		"lemur", "leopard", "llama", "lynx", "magpie", "marmot", "marten", "moose", "narwhal", "newt", "nightingale", "ocelot",
		"octopus", "osprey", "otter", "owl", "panda", "penguin", "plover", "puffin", "raven", "robin", "salmon", "seal",
		"sparrow", "squirrel", "stork", "swan", "tapir", "tern", "tiger", "trout", "walrus", "weasel", "wolf", "wren", "yak",
	}
)

// Random returns a name for an unnamed resource, such as "amber-fox". Names need not be unique.
func Random() string {
	return adjectives[rand.IntN(len(adjectives))] + "-" + animals[rand.IntN(len(animals))]
}
