package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"sigs.k8s.io/yaml"
)

const admission = "admissionregistration.k8s.io"

// strategies are the API server's own rules for creating an object of a kind; those that a chart of ours may render.
var strategies = map[schema.GroupKind]rest.RESTCreateStrategy{
	{Kind: "ConfigMap"}:                                              configmap.Strategy,
	{Kind: "PersistentVolume"}:                                       persistentvolume.Strategy,
	{Kind: "PersistentVolumeClaim"}:                                  persistentvolumeclaim.Strategy,
	{Kind: "Pod"}:                                                    pod.Strategy,
	{Kind: "Secret"}:                                                 secret.Strategy,
	{Kind: "Service"}:                                                service.Strategy,
	{Kind: "ServiceAccount"}:                                         serviceaccount.Strategy,
	{Group: "apps", Kind: "DaemonSet"}:                               daemonset.Strategy,
	{Group: "apps", Kind: "Deployment"}:                              deployment.Strategy,
	{Group: "apps", Kind: "StatefulSet"}:                             statefulset.Strategy,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:          horizontalpodautoscaler.Strategy,
	{Group: "batch", Kind: "Job"}:                                    job.Strategy,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:              networkpolicy.Strategy,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                   poddisruptionbudget.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               role.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        rolebinding.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        clusterrole.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: clusterrolebinding.Strategy,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                     csidriver.Strategy,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                  storageclass.Strategy,
	{Group: "batch", Kind: "CronJob"}:                                cronjob.Strategy,

	// Without an authorizer: whether the caller may read parameters is a question of the cluster.
	{Group: admission, Kind: "MutatingWebhookConfiguration"}:     mutatingwebhookconfiguration.Strategy,
	{Group: admission, Kind: "MutatingAdmissionPolicy"}:          mutatingadmissionpolicy.NewStrategy(nil, nil),
	{Group: admission, Kind: "MutatingAdmissionPolicyBinding"}:   mutatingadmissionpolicybinding.NewStrategy(nil, nil, nil),
	{Group: admission, Kind: "ValidatingAdmissionPolicy"}:        validatingadmissionpolicy.NewStrategy(nil, nil),
	{Group: admission, Kind: "ValidatingAdmissionPolicyBinding"}: validatingadmissionpolicybinding.NewStrategy(nil, nil, nil),
}

// --allow-privileged, which every distribution sets: a mount that other Pods shall see needs it.
func init() {
	capabilities.Setup(true, 0)
}

// As the API server reads a request with fieldValidation=Strict: unknown and repeated fields are faults.
var decoder = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDecoder()

// examine parses what helm printed, and adds the objects and what an API server has against any of them.
func (given *answer) examine(namespace string) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(given.Manifests)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			given.Faults = append(given.Faults, "not YAML: "+err.Error())
			return
		}
		object, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			given.Faults = append(given.Faults, fmt.Sprintf("not YAML: %v in\n%s", err, document))
		} else if string(object) != "null" {
			given.Objects = append(given.Objects, object)
			given.create(object, namespace)
		}
	}
}

// create does what the API server does with a request to create the object, but for its admission and its storage.
func (given *answer) create(object []byte, namespace string) {
	var named metav1.PartialObjectMetadata
	if err := json.Unmarshal(object, &named); err != nil {
		given.Faults = append(given.Faults, fmt.Sprintf("not an object: %v: %s", err, object))
		return
	}
	// Roles in the namespaces of others; that nothing else lies there is a test of the chart.
	if named.Namespace != "" {
		namespace = named.Namespace
	}
	what := fmt.Sprintf("%s %s: ", named.Kind, named.Name)
	warnings, err := create(object, named.GroupVersionKind(), namespace)
	if err != nil {
		given.Faults = append(given.Faults, what+err.Error())
	}
	for _, text := range warnings {
		given.Warnings = append(given.Warnings, what+text)
	}
}

func create(object []byte, kind schema.GroupVersionKind, namespace string) (recorder, error) {
	strategy, known := strategies[kind.GroupKind()]
	if !known {
		return nil, fmt.Errorf("no rules for %s in tools/go/render/apiserver.go", kind.GroupVersion())
	}
	decoded, _, err := decoder.Decode(object, nil, nil)
	if err != nil {
		return nil, err
	}
	internal, err := legacyscheme.Scheme.ConvertToVersion(decoded, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, err
	}
	metadata, err := meta.Accessor(internal)
	if err != nil {
		return nil, err
	}
	scope := metav1.NamespaceNone
	if strategy.NamespaceScoped() {
		scope = namespace
	}
	warnings := recorder{}
	ctx := request.WithNamespace(context.Background(), scope)
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{Verb: "create", APIGroup: kind.Group, APIVersion: kind.Version})
	ctx = warning.WithWarningRecorder(ctx, &warnings)
	rest.FillObjectMetaSystemFields(metadata)
	err = rest.BeforeCreate(strategy, ctx, internal)
	return warnings, err
}

// recorder keeps the warnings that the API server would send along.
type recorder []string

func (kept *recorder) AddWarning(_, text string) { *kept = append(*kept, text) }
