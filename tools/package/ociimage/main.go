// Command ociimage writes the image of a static program for several platforms into a directory, as an OCI image layout. The image is the
// one that deploy/docker/Dockerfile builds: the program as /service, and the directory /data of user 65532. It needs no container engine,
// and equal programs yield equal files.
//
//	ociimage -name orch -version 1.2.3 -created 1790000000 -layout DIR linux/amd64=FILE linux/arm64=FILE
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user runs the program, and owns /data. Group and user have the same id.
const user = 65532

// release identifies the image.
type release struct {
	name, version string
	created       time.Time
}

func main() {
	var r release
	var created int64
	flag.StringVar(&r.name, "name", "", "name of the image, without a registry")
	flag.StringVar(&r.version, "version", "", "version of the program")
	flag.Int64Var(&created, "created", 0, "time of the release in seconds since 1970")
	dir := flag.String("layout", "", "directory to write")
	flag.Parse()
	r.created = time.Unix(created, 0).UTC()
	if err := r.write(*dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "ociimage:", err)
		os.Exit(1)
	}
}

// write writes the layout of the image. Each program has the form OS/ARCH=FILE.
func (r release) write(dir string, programs []string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, program := range programs {
		platform, file, ok := strings.Cut(program, "=")
		if !ok {
			return fmt.Errorf("read the argument %q: it has not the form OS/ARCH=FILE", program)
		}
		parsed, err := v1.ParsePlatform(platform)
		if err != nil {
			return fmt.Errorf("read the platform %q: %w", platform, err)
		}
		image, err := r.image(*parsed, file)
		if err != nil {
			return fmt.Errorf("build the image for %s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: parsed}})
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	// containerd and Podman read the name from the first annotation, other programs read the tag from the second.
	tag := strings.ReplaceAll(r.version, "+", "-")
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          "localhost/" + r.name + ":" + tag,
		"org.opencontainers.image.ref.name": tag,
	}))
}

// image returns the image of a program for one platform.
func (r release) image(platform v1.Platform, file string) (v1.Image, error) {
	files, err := r.files(file)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "tools/release", Created: v1.Time{Time: r.created}}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture, config.Created = platform.OS, platform.Architecture, v1.Time{Time: r.created}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), Env: []string{"ORCH_DATA_DIR=/data"}, Entrypoint: []string{"/service"},
		Labels: map[string]string{"org.opencontainers.image.title": r.name, "org.opencontainers.image.version": r.version},
	}
	return mutate.ConfigFile(image, config)
}

// files returns the archive of the image's files.
func (r release) files(file string) ([]byte, error) {
	program, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, header := range []tar.Header{
		{Typeflag: tar.TypeReg, Name: "service", Mode: 0o755, Size: int64(len(program)), ModTime: r.created},
		{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o755, Uid: user, Gid: user, ModTime: r.created},
	} {
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := w.Write(program); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
