package deploy_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// base is the output of kustomize for deploy/kubernetes/base.
func base(t *testing.T) resmap.ResMap {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "deploy", "kubernetes", "base"))
	require.NoError(t, err)
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	require.NoError(t, err)
	return resources
}

// objects are the resources as Kubernetes' own types, parsed strictly: an unknown or duplicate field is an error.
func objects(t *testing.T) []runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		require.NoError(t, add(scheme))
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []runtime.Object
	for _, resource := range base(t).Resources() {
		text, err := resource.AsYAML()
		require.NoError(t, err)
		object, _, err := decoder.Decode(bytes.TrimSpace(text), nil, nil)
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

// key is a key for secrets, in the output format of openssl.
const key = "VGhpcyBpcyBhIGtleSBvZiAzMiBieXRlcyBmb3IgdGU="

// Operators create the secrets; these are placeholders.
var secrets = map[string]string{
	"orch-gateway/auth-basic":         "admin:secret",
	"orch-secrets/keys":               key,
	"orch-infrastructure/nats-url":    "nats://orch:secret@nats.infrastructure:4222",
	"orch-infrastructure/mongodb-uri": "mongodb://mongo.infrastructure:27017/?replicaSet=rs0",
}

func TestKubernetesSettingsAreAccepted(t *testing.T) {
	t.Parallel()
	all := objects(t)
	deployments, maps := named[*appsv1.Deployment](all), named[*corev1.ConfigMap](all)
	for name, known := range services {
		require.Contains(t, deployments, name)
		container := deployments[name].Spec.Template.Spec.Containers[0]
		variables := map[string]string{}
		for _, source := range container.EnvFrom {
			m := maps[source.ConfigMapRef.Name]
			require.NotNil(t, m, source.ConfigMapRef.Name)
			for variable, value := range m.Data {
				if m.Name != shared || known.has(t, variable) {
					variables[variable] = value
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
			require.True(t, ok, "nobody is told to make the secret %s/%s", ref.Name, ref.Key)
			variables[variable.Name] = value
		}
		known.accepts(t, variables)
	}
	for variable := range maps[shared].Data {
		require.True(t, anyHas(t, variable),
			"%s is no setting of any service", variable)
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
	listen := named[*corev1.ConfigMap](objects(t))["gateway"].Data["ORCH_GATEWAY_LISTEN"]
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
	for _, known := range services {
		if known.has(t, variable) {
			return true
		}
	}
	return false
}

// Pods satisfy the restricted Pod Security Standard, and more.
func TestKubernetesConfines(t *testing.T) {
	t.Parallel()
	all := objects(t)
	accounts := named[*corev1.ServiceAccount](all)
	for name, deployment := range named[*appsv1.Deployment](all) {
		pod := deployment.Spec.Template.Spec
		require.False(t, *pod.AutomountServiceAccountToken, name)
		require.Contains(t, accounts, pod.ServiceAccountName)
		require.False(t, *accounts[pod.ServiceAccountName].AutomountServiceAccountToken, name)
		require.True(t, *pod.SecurityContext.RunAsNonRoot, name)
		require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type, name)
		require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC, name)
		for _, container := range pod.Containers {
			security := container.SecurityContext
			require.False(t, *security.AllowPrivilegeEscalation, name)
			require.True(t, *security.ReadOnlyRootFilesystem, name)
			require.Equal(t, []corev1.Capability{"ALL"}, security.Capabilities.Drop, name)
			require.Empty(t, security.Capabilities.Add, name)
			require.NotZero(t, container.Resources.Limits.Memory().Value(), name)
		}
	}
	enforced := named[*corev1.Namespace](all)["orch"].Labels["pod-security.kubernetes.io/enforce"]
	require.Equal(t, "restricted", enforced)
}

// Probes use the internal port, and every reference to a port or to labels resolves.
func TestKubernetesHangsTogether(t *testing.T) {
	t.Parallel()
	all := objects(t)
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
	all := objects(t)
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
}
