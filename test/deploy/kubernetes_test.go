package deploy_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/orch-project/orch/pkg/testkit"
)

// overlays are the folders below deploy/kubernetes that kustomize builds. The last is the base alone.
var overlays = []string{"overlays/dev", "overlays/production", "base"}

// kustomize builds a folder below deploy/kubernetes.
func kustomize(t *testing.T, folder string) [][]byte {
	t.Helper()
	at, err := filepath.Abs(filepath.Join(root, "deploy", "kubernetes", folder))
	require.NoError(t, err)
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), at)
	require.NoError(t, err)
	var documents [][]byte
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		require.NoError(t, err)
		documents = append(documents, bytes.TrimSpace(text))
	}
	return documents
}

// objects are the resources of a folder as Kubernetes' own types.
func objects(t *testing.T, folder string) []runtime.Object {
	t.Helper()
	return decode(t, kustomize(t, folder))
}

// custom are kinds of custom resources, whose types are not Kubernetes' own.
var custom = []string{"ServiceMonitor", "HTTPRoute"}

// decode parses documents strictly: an unknown or duplicate field is an error.
func decode(t *testing.T, documents [][]byte) []runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, autoscalingv2.AddToScheme,
	} {
		require.NoError(t, add(scheme))
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []runtime.Object
	for _, text := range documents {
		var meta struct{ Kind string }
		require.NoError(t, yaml.Unmarshal(text, &meta), string(text))
		if slices.Contains(custom, meta.Kind) {
			continue
		}
		object, _, err := decoder.Decode(text, nil, nil)
		require.NoError(t, err, string(text))
		all = append(all, object)
	}
	return all
}

// named returns the objects of one type by name.
func named[T interface {
	runtime.Object
	GetName() string
}](all []runtime.Object,
) map[string]T {
	found := map[string]T{}
	for _, object := range all {
		if o, ok := object.(T); ok {
			found[o.GetName()] = o
		}
	}
	return found
}

// shared is the ConfigMap of all services; a service ignores settings that it does not have.
const shared = "orch"

// plain is the name of a ConfigMap without the hash of its content.
func plain(name string) string { return hashSuffix.ReplaceAllString(name, "") }

var hashSuffix = regexp.MustCompile(`-[a-z0-9]{10}$`)

// key is a key for secrets, in the output format of openssl.
const key = "VGhpcyBpcyBhIGtleSBvZiAzMiBieXRlcyBmb3IgdGU="

// Operators create the secrets; these are placeholders.
var secrets = map[string]string{
	"orch-gateway/auth-basic":         "admin:a-long-random-secret",
	"orch-secrets/keys":               key,
	"orch-infrastructure/mongodb-uri": "mongodb://mongo.infrastructure:27017/?replicaSet=rs0",

	"orch-infrastructure/nats-url-gateway":       "nats://gateway:secret@nats.infrastructure:4222",
	"orch-infrastructure/nats-url-hooks":         "nats://hooks:secret@nats.infrastructure:4222",
	"orch-infrastructure/nats-url-orchestration": "nats://orchestration:secret@nats.infrastructure:4222",
}

func TestKubernetesSettingsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, folder := range overlays {
		requireSettings(t, objects(t, folder))
	}
}

// requireSettings checks that each container's settings are those of its service, and valid.
func requireSettings(t *testing.T, all []runtime.Object) {
	t.Helper()
	deployments, maps := named[*appsv1.Deployment](all), named[*corev1.ConfigMap](all)
	for name, service := range services {
		require.Contains(t, deployments, name)
		container := deployments[name].Spec.Template.Spec.Containers[0]
		variables := map[string]string{}
		for _, source := range container.EnvFrom {
			m := maps[source.ConfigMapRef.Name]
			require.NotNil(t, m, source.ConfigMapRef.Name)
			for variable, value := range m.Data {
				if plain(m.Name) != shared || service.has(t, variable) {
					variables[variable] = value
				}
				if plain(m.Name) == shared {
					require.True(t, anyHas(t, variable), "%s is no setting of any service", variable)
				}
			}
		}
		for _, variable := range container.Env {
			if variable.Name == goMemLimit {
				requireRoom(t, variable.Value, container.Resources.Limits.Memory().Value())
				continue
			}
			ref := variable.ValueFrom.SecretKeyRef
			value, ok := secrets[ref.Name+"/"+ref.Key]
			require.True(t, ok, "no instruction creates the secret %s/%s", ref.Name, ref.Key)
			variables[variable.Name] = value
		}
		mounted(t, container, variables)
		service.accepts(t, variables)
	}
}

// mounted checks that a volume holds each file that a variable names, and replaces it with a file of the test.
func mounted(t *testing.T, container corev1.Container, variables map[string]string) {
	t.Helper()
	dir := t.TempDir()
	now := time.Now()
	testkit.NewAuthority(t, now).Issue(dir, now.Add(-time.Hour), now.Add(time.Hour))
	for name, value := range variables {
		if !strings.HasPrefix(value, "/etc/orch/") {
			continue
		}
		require.True(t, slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.MountPath == path.Dir(value) && m.ReadOnly
		}), "%s: no volume has %s", name, value)
		variables[name] = filepath.Join(dir, path.Base(value))
	}
}

// goMemLimit is a setting of the Go runtime.
const goMemLimit = "GOMEMLIMIT"

// requireRoom checks that Go's memory limit leaves a tenth of a container's memory.
func requireRoom(t *testing.T, setting string, limit int64) {
	t.Helper()
	size, err := resource.ParseQuantity(strings.TrimSuffix(setting, "B")) // Go writes MiB, Kubernetes Mi.
	require.NoError(t, err)
	require.Positive(t, size.Value())
	require.LessOrEqual(t, size.Value(), limit-limit/10)
}

// The gateway does not start on a public address without configured authentication.
func TestKubernetesIsNotOpenByDefault(t *testing.T) {
	t.Parallel()
	listen := ""
	for name, m := range named[*corev1.ConfigMap](objects(t, "base")) {
		if plain(name) == "gateway" {
			listen = m.Data["ORCH_GATEWAY_LISTEN"]
		}
	}
	require.NotEmpty(t, listen)
	for name, variables := range map[string]map[string]string{
		"nothing said":   {"ORCH_GATEWAY_LISTEN": listen},
		"no password":    {"ORCH_GATEWAY_LISTEN": listen, "ORCH_AUTH": "basic"},
		"both of a kind": {"ORCH_GATEWAY_LISTEN": listen, "ORCH_AUTH": "keys", "ORCH_AUTH_BASIC": "admin:secret"},
	} {
		require.Error(t, services["gateway"].load(variables), name)
	}
	services["gateway"].accepts(t, map[string]string{"ORCH_GATEWAY_LISTEN": listen, "ORCH_AUTH": "keys"})
}

func anyHas(t *testing.T, variable string) bool {
	t.Helper()
	for _, service := range services {
		if service.has(t, variable) {
			return true
		}
	}
	return false
}

// Pods satisfy the restricted Pod Security Standard, and more.
func TestKubernetesConfines(t *testing.T) {
	t.Parallel()
	for _, folder := range overlays {
		all := objects(t, folder)
		requireRestricted(t, all)
		enforced := named[*corev1.Namespace](all)["orch"].Labels["pod-security.kubernetes.io/enforce"]
		require.Equal(t, "restricted", enforced)
	}
}

// writable are containers whose program writes beside its volumes.
var writable = []string{"mongo"}

// requireRestricted checks the pods of Deployments and StatefulSets against the Pod Security Standard "restricted". Source:
// https://kubernetes.io/docs/concepts/security/pod-security-standards/
func requireRestricted(t *testing.T, all []runtime.Object) {
	t.Helper()
	accounts := named[*corev1.ServiceAccount](all)
	pods := map[string]corev1.PodSpec{}
	for name, deployment := range named[*appsv1.Deployment](all) {
		pods[name] = deployment.Spec.Template.Spec
		require.Contains(t, accounts, pods[name].ServiceAccountName)
		require.False(t, *accounts[pods[name].ServiceAccountName].AutomountServiceAccountToken, name)
	}
	for name, set := range named[*appsv1.StatefulSet](all) {
		pods[name] = set.Spec.Template.Spec
	}
	for name, pod := range pods {
		require.False(t, *pod.AutomountServiceAccountToken, name)
		require.True(t, *pod.SecurityContext.RunAsNonRoot, name)
		require.NotZero(t, *pod.SecurityContext.RunAsUser, name)
		require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type, name)
		require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC, name)
		for _, volume := range pod.Volumes {
			require.True(t, volume.ConfigMap != nil || volume.Secret != nil || volume.EmptyDir != nil, "%s: volume %s", name, volume.Name)
		}
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			security := container.SecurityContext
			require.False(t, *security.AllowPrivilegeEscalation, name)
			require.Equal(t, []corev1.Capability{"ALL"}, security.Capabilities.Drop, name)
			require.Empty(t, security.Capabilities.Add, name)
			require.NotZero(t, container.Resources.Limits.Memory().Value(), name)
			if !slices.Contains(writable, container.Name) {
				require.True(t, *security.ReadOnlyRootFilesystem, name)
			}
			for _, port := range container.Ports {
				require.Zero(t, port.HostPort, name)
			}
		}
	}
}

// No image is pulled from a registry or an account that nobody owns: until an operator names a registry, none resolves.
func TestKubernetesImagesBelongToNobodyElse(t *testing.T) {
	t.Parallel()
	for _, folder := range overlays {
		for name, deployment := range named[*appsv1.Deployment](objects(t, folder)) {
			for _, container := range deployment.Spec.Template.Spec.Containers {
				registry, _, _ := strings.Cut(container.Image, "/")
				require.Contains(t, []string{"registry.invalid", "localhost"}, registry, name)
				if registry == "localhost" {
					require.Equal(t, corev1.PullNever, container.ImagePullPolicy, name)
				}
			}
		}
	}
}

// A change of the configuration changes the name of its ConfigMap, and so the pods.
func TestKubernetesConfigurationIsHashed(t *testing.T) {
	t.Parallel()
	for _, folder := range overlays {
		for name := range named[*corev1.ConfigMap](objects(t, folder)) {
			require.Regexp(t, hashSuffix, name)
			require.NotEqual(t, "external", plain(name), "a source of values only")
		}
	}
}

// The policies of an overlay with an external NATS and MongoDB have the operator's networks.
func TestKubernetesExternalHosts(t *testing.T) {
	t.Parallel()
	policies := named[*networkingv1.NetworkPolicy](objects(t, "overlays/production"))
	for _, name := range []string{"external-nats", "external-mongodb"} {
		require.Equal(t, "192.0.2.0/24", policies[name].Spec.Egress[0].To[0].IPBlock.CIDR)
	}
}

// The examples send webhooks to hooks and all else to the gateway.
func TestKubernetesExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "deploy", "kubernetes", "examples", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	services := named[*corev1.Service](objects(t, "base"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		documents := bytes.Split(text, []byte("\n---\n"))
		for _, ingress := range named[*networkingv1.Ingress](decode(t, documents)) {
			rule := ingress.Spec.Rules[0].HTTP.Paths[0]
			require.Equal(t, rule.Path == "/hooks/", rule.Backend.Service.Name == "hooks")
			require.Contains(t, services, rule.Backend.Service.Name)
			require.Equal(t, rule.Backend.Service.Port.Name, services[rule.Backend.Service.Name].Spec.Ports[0].Name)
		}
		if bytes.Contains(text, []byte("HTTPRoute")) {
			require.Regexp(t, `(?s)value: /hooks\b.*name: hooks, port: 4201.*value: /}.*name: gateway, port: 4200`, string(text))
		}
	}
}

// Probes use the internal port, and every reference to a port or to labels resolves.
func TestKubernetesHangsTogether(t *testing.T) {
	t.Parallel()
	all := objects(t, "base")
	budgets, nets := named[*policyv1.PodDisruptionBudget](all), named[*corev1.Service](all)
	for name, deployment := range named[*appsv1.Deployment](all) {
		labels := deployment.Spec.Template.Labels
		require.Equal(t, deployment.Spec.Selector.MatchLabels, labels, name)
		require.Equal(t, budgets[name].Spec.Selector.MatchLabels, labels, name)
		require.Equal(t, nets[name].Spec.Selector, labels, name)
		require.Greater(t, *deployment.Spec.Replicas, int32(1), name)

		container := deployment.Spec.Template.Spec.Containers[0]
		ports := map[string]bool{}
		for _, port := range container.Ports {
			ports[port.Name] = true
		}
		require.True(t, ports["internal"], name)
		for path, probe := range map[string]*corev1.Probe{
			"/health": container.LivenessProbe, "/ready": container.ReadinessProbe,
		} {
			require.Equal(t, path, probe.HTTPGet.Path, name)
			require.Equal(t, "internal", probe.HTTPGet.Port.StrVal, name)
		}
		for _, port := range nets[name].Spec.Ports {
			require.True(t, ports[port.TargetPort.StrVal], name)
			require.NotEqual(t, "internal", port.TargetPort.StrVal, "metrics and profiles are not for everybody")
		}
	}
}

// The default policy denies ingress and egress.
func TestKubernetesDeniesByDefault(t *testing.T) {
	t.Parallel()
	all := objects(t, "base")
	policies := named[*networkingv1.NetworkPolicy](all)
	deny := policies["default-deny"]
	require.NotNil(t, deny)
	require.Empty(t, deny.Spec.PodSelector.MatchLabels)
	require.Empty(t, deny.Spec.Ingress)
	require.Empty(t, deny.Spec.Egress)
	require.ElementsMatch(t, []networkingv1.PolicyType{"Ingress", "Egress"}, deny.Spec.PolicyTypes)
	for name := range named[*appsv1.Deployment](all) {
		require.Contains(t, policies, name, "the paths of %s are listed", name)
	}
	require.NotEmpty(t, policies["orchestration"].Spec.Ingress[0].From, "only the gateway reaches orchestration")
	for name, policy := range policies {
		for _, rule := range policy.Spec.Egress {
			for _, to := range rule.To {
				require.False(t, to.PodSelector != nil && to.NamespaceSelector != nil && len(to.NamespaceSelector.MatchLabels) == 0,
					"%s: a label in any namespace", name)
			}
		}
	}
}
