package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreignImage matches the images of others in a deployment file: those of the services belong to the operator's registry.
var foreignImage = regexp.MustCompile(`(?m)^(?:\s*(?:- )?image: |FROM (?:--platform=\S+ )?)(?:docker\.io/library/)?([^\s@]+)(?:@(\S+))?`)

// TestForeignImagesArePinned: every foreign image is in deploy/images.txt with an exact version, and has its digest once it is known.
func TestForeignImagesArePinned(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "images.txt"))
	require.NoError(t, err)
	digests := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] != "#" {
			require.Regexp(t, `^(unknown|sha256:[0-9a-f]{64})$`, fields[1], line)
			digests[fields[0]] = fields[1]
		}
	}
	used := map[string]bool{}
	files := []string{"docker-compose.yml", "deploy/docker/Dockerfile"}
	manifests, err := filepath.Glob(filepath.Join(root, "deploy", "kubernetes", "*", "*.yaml"))
	require.NoError(t, err)
	overlays, err := filepath.Glob(filepath.Join(root, "deploy", "kubernetes", "overlays", "*", "*.yaml"))
	require.NoError(t, err)
	for _, file := range append(manifests, overlays...) {
		name, err := filepath.Rel(root, file)
		require.NoError(t, err)
		files = append(files, name)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		for _, found := range foreignImage.FindAllStringSubmatch(string(text), -1) {
			image, digest := found[1], found[2]
			if image == "scratch" || image == "build" || strings.HasPrefix(image, "localhost/") || strings.HasPrefix(image, "registry.invalid/") {
				continue
			}
			require.Contains(t, digests, image, "%s: add it to deploy/images.txt, and run make pin-images", file)
			used[image] = true
			if want := digests[image]; want != "unknown" {
				require.Equal(t, want, digest, "%s: %s; run make pin-images", file, image)
			}
		}
	}
	for image := range digests {
		require.True(t, used[image], "%s is in deploy/images.txt and nowhere else", image)
	}
}
