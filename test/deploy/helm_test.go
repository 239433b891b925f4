package deploy_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/services/standalone"
)

// chartOf loads the chart.
func chartOf(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(filepath.Join(root, "deploy", "helm", "orch"))
	require.NoError(t, err)
	return loaded
}

// render renders the chart with values, as helm template does.
func render(t *testing.T, values map[string]any) ([][]byte, error) {
	t.Helper()
	loaded := chartOf(t)
	all, err := chartutil.ToRenderValues(loaded, values, chartutil.ReleaseOptions{Name: "orch", Namespace: "orch"}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	var documents [][]byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		for _, document := range releaseutil.SplitManifests(files[name]) {
			documents = append(documents, []byte(strings.TrimSpace(document)))
		}
	}
	return documents, nil
}

// productionValues are the values that describe what the overlay production does.
func productionValues(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "helm", "orch", "ci", "production-values.yaml"))
	require.NoError(t, err)
	var values map[string]any
	require.NoError(t, yaml.Unmarshal(text, &values))
	return values
}

// described are documents by kind and name, without what the two tools cannot have in common: the namespace object, the
// hash of the configuration, and the place of the images.
func described(t *testing.T, documents [][]byte) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, text := range documents {
		var object map[string]any
		require.NoError(t, yaml.Unmarshal(text, &object), string(text))
		kind, meta := object["kind"].(string), object["metadata"].(map[string]any)
		switch kind {
		case "Namespace":
			continue
		case "ConfigMap":
			meta["name"] = plain(meta["name"].(string))
		case "Deployment":
			template := object["spec"].(map[string]any)["template"].(map[string]any)
			delete(template["metadata"].(map[string]any), "annotations")
			for _, c := range template["spec"].(map[string]any)["containers"].([]any) {
				container := c.(map[string]any)
				container["image"] = "set by the operator"
				for _, source := range container["envFrom"].([]any) {
					reference := source.(map[string]any)["configMapRef"].(map[string]any)
					reference["name"] = plain(reference["name"].(string))
				}
			}
		}
		all[kind+" "+meta["name"].(string)] = object
	}
	return all
}

// The chart and the overlay production cannot drift: they describe the same objects.
func TestHelmEqualsKustomize(t *testing.T) {
	t.Parallel()
	rendered, err := render(t, productionValues(t))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(described(t, kustomize(t, "overlays/production")), described(t, rendered)))
}

func TestHelmObjectsAreValid(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(map[string]any){
		"production":  func(map[string]any) {},
		"without TLS": func(v map[string]any) { v["tls"] = map[string]any{"enabled": false, "secret": "orch-tls"} },
		"fixed replicas": func(v map[string]any) {
			v["gateway"] = map[string]any{"autoscaling": map[string]any{"enabled": false}, "replicas": 3}
		},
		"with an ingress": func(v map[string]any) {
			v["ingress"] = map[string]any{
				"enabled": true, "host": "orch.example.com", "className": "nginx", "tlsSecret": "orch-example-com",
				"hooksAnnotations": map[string]any{"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"},
			}
		},
		"by digest": func(v map[string]any) {
			digest := "sha256:" + strings.Repeat("0", 64)
			v["image"] = map[string]any{
				"registry": "registry.example.com", "digests": map[string]any{"gateway": digest, "hooks": digest, "orchestration": digest},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values := productionValues(t)
			change(values)
			rendered, err := render(t, values)
			require.NoError(t, err)
			all := decode(t, rendered)
			requireRestricted(t, all)
			requireSettings(t, all)
			require.Len(t, named[*appsv1.Deployment](all), len(services))
		})
	}
}

// The chart of this checkout has the version that the changes are listed under; a release replaces it.
func TestHelmHasTheVersionOfTheChangelog(t *testing.T) {
	t.Parallel()
	changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(changes), "\n## [")
	require.True(t, found)
	version, _, _ := strings.Cut(rest, "]")
	require.Equal(t, version, chartOf(t).Metadata.Version)
	require.Equal(t, version, chartOf(t).AppVersion())
}

// Without a mode the chart describes the single binary: one pod that is confined, starts with its settings and keeps its data, with a
// password of its own.
func TestHelmIsASingleNodeByDefault(t *testing.T) {
	t.Parallel()
	image := map[string]any{"registry": "registry.example.com", "tag": "1.2.3"}
	single := func(t *testing.T, values map[string]any) []runtime.Object {
		t.Helper()
		rendered, err := render(t, values)
		require.NoError(t, err)
		all := decode(t, rendered)
		requireRestricted(t, all)
		require.Empty(t, named[*appsv1.Deployment](all))
		return all
	}
	t.Run("its settings", func(t *testing.T) {
		t.Parallel()
		all := single(t, map[string]any{"image": image})
		pod := named[*appsv1.StatefulSet](all)["orch"].Spec.Template.Spec.Containers[0]
		require.Equal(t, "registry.example.com/orch:1.2.3", pod.Image)
		password := string(named[*corev1.Secret](all)["orch"].Data["auth-basic"])
		require.Regexp(t, `^admin:[A-Za-z0-9]{32}$`, password)
		variables := maps.Clone(named[*corev1.ConfigMap](all)["orch"].Data)
		for _, variable := range pod.Env {
			switch {
			case variable.Name == goMemLimit:
				requireRoom(t, variable.Value, pod.Resources.Limits.Memory().Value())
			case variable.ValueFrom != nil:
				require.Equal(t, "orch", variable.ValueFrom.SecretKeyRef.Name)
				variables[variable.Name] = password
			}
		}
		fields, err := config.Fields[standalone.Config]()
		require.NoError(t, err)
		for name := range variables {
			require.True(t, slices.ContainsFunc(fields, func(f config.Field) bool { return f.Name == name }), name)
		}
		loaded, err := config.LoadFrom[standalone.Config](variables)
		require.NoError(t, err)
		require.Equal(t, loaded.DataDir, pod.VolumeMounts[0].MountPath)
	})
	t.Run("a Secret of the operator", func(t *testing.T) {
		t.Parallel()
		all := single(t, map[string]any{"image": image, "single": map[string]any{"authSecret": "mine"}})
		require.Empty(t, named[*corev1.Secret](all))
	})
	t.Run("API keys", func(t *testing.T) {
		t.Parallel()
		all := single(t, map[string]any{"image": image, "config": map[string]any{"ORCH_AUTH": "keys"}})
		require.Empty(t, named[*corev1.Secret](all))
	})
	t.Run("its Ingress", func(t *testing.T) {
		t.Parallel()
		all := single(t, map[string]any{"image": image, "ingress": map[string]any{"enabled": true, "host": "orch.example.com"}})
		ingresses := named[*networkingv1.Ingress](all)
		require.Len(t, ingresses, 1)
		require.Contains(t, named[*corev1.Service](all), ingresses["orch"].Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name)
	})
}

// A changed setting changes the pod templates of the services that have it.
func TestHelmConfigurationIsHashed(t *testing.T) {
	t.Parallel()
	checksums := func(change map[string]any) map[string]string {
		values := productionValues(t)
		maps.Copy(values, change)
		rendered, err := render(t, values)
		require.NoError(t, err)
		found := map[string]string{}
		for name, deployment := range named[*appsv1.Deployment](decode(t, rendered)) {
			found[name] = deployment.Spec.Template.Annotations["checksum/config"]
		}
		return found
	}
	before := checksums(nil)
	after := checksums(map[string]any{"hooks": map[string]any{"config": map[string]any{"ORCH_HOOKS_STRICT_QUIET": "true"}}})
	require.NotEqual(t, before["hooks"], after["hooks"])
	require.Equal(t, before["gateway"], after["gateway"])
	shared := checksums(map[string]any{"config": map[string]any{"ORCH_LOG_LEVEL": "debug"}})
	for name := range services {
		require.NotEqual(t, before[name], shared[name])
	}
}

func TestHelmRefusesValues(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]map[string]any{
		"image.registry: set the registry": {"image": map[string]any{"registry": "", "tag": "1"}},
		"image.tag: set the released":      {"image": map[string]any{"registry": "registry.example.com", "tag": ""}},
		"replica":                          {"gateway": map[string]any{"replica": 3}},
		"ingress.host":                     {"ingress": map[string]any{"enabled": true}},
		"lower":                            {"config": map[string]any{"lower": "case"}},
		"monitoring":                       {"monitoring": true},
		"mode":                             {"mode": "double"},
		"replicas":                         {"single": map[string]any{"replicas": 3}},
	} {
		values := productionValues(t)
		maps.Copy(values, change)
		_, err := render(t, values)
		require.ErrorContains(t, err, want)
	}
}

// Secrets are references: the chart holds none.
func TestHelmHoldsNoSecret(t *testing.T) {
	t.Parallel()
	rendered, err := render(t, productionValues(t))
	require.NoError(t, err)
	require.Empty(t, named[*corev1.Secret](decode(t, rendered)))
}
