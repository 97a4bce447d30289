{{- /* Which namespaces and models the L2 patch is for, and what their Pods are given. Context everywhere: root. */ -}}

{{- /* "true" if AWS's operator makes this release's Pods. */ -}}
{{- define "inference-operator.used" -}}
{{- $platform := .tkc.values.platform | default "auto" -}}
{{- if eq $platform "hyperpod" }}true{{ end -}}
{{- end -}}

{{- /* "true" if the patch is for models of this release. */ -}}
{{- define "inference-operator.patch.ownWanted" -}}
{{- if and (include "inference-operator.used" .) (dig "l2" "enabled" false .tkc.values) -}}
{{-   $wanted := false -}}
{{-   range .tkc.models -}}{{- $wanted = or $wanted (dig "cache" "l2" "enabled" false .spec) -}}{{- end -}}
{{-   if $wanted }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* "true" if there is anything to patch. It asks only for what is known before values are found right. */ -}}
{{- define "inference-operator.patch.wanted" -}}
{{- $patch := dig "inferenceOperator" "l2Patch" dict .tkc.values -}}
{{- if and (index $patch "enabled") (or (index $patch "namespaces") (include "inference-operator.patch.ownWanted" .)) }}true{{ end -}}
{{- end -}}

{{- /* The release's own models that want L2: parameters by model. JSON object. */ -}}
{{- define "inference-operator.patch.ownModels" -}}
{{- $models := dict -}}
{{- if include "inference-operator.patch.ownWanted" . -}}
{{-   range .tkc.models -}}
{{-     if .l2 -}}{{- $_ := set $models (include "tkc.model.name" .) (dict "hashSeed" (include "tkc.scalar" .spec.cache.hashSeed)) -}}{{- end -}}
{{-   end -}}
{{- end -}}
{{- toJson $models -}}
{{- end -}}

{{- /* Parameters of the release's own namespace. JSON object; empty if no own model is patched. */ -}}
{{- define "inference-operator.patch.own" -}}
{{- $models := include "inference-operator.patch.ownModels" . | fromJson -}}
{{- $own := dict -}}
{{- if $models -}}
{{-   $own = dict "models" (keys $models) "claim" (include "tkc.l2.claimName" .) "mountPath" (trimSuffix "/" .tkc.values.l2.mountPath) "ofModels" $models -}}
{{-   if include "curvine.onNodes" . -}}{{- $_ := set $own "propagation" "HostToContainer" -}}{{- end -}}
{{-   range .tkc.models -}}
{{-     if and .l2 .guarded (not (hasKey $own "adapter")) -}}
{{-       $params := include "model-endpoint.engine.l2Adapter" . | fromJson | dig "adapter_params" dict -}}
{{-       $_ := set $own "adapter" "guarded" -}}
{{-       $_ := set $own "adapterParams" (omit $params "base_path" "pod" | toRawJson) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- toJson $own -}}
{{- end -}}

{{- /* Parameters of all namespaces, by namespace. What values say of the own one comes on top of what the chart knows. JSON object. */ -}}
{{- define "inference-operator.patch.targets" -}}
{{- $targets := dict -}}
{{- if include "inference-operator.patch.wanted" . -}}
{{-   with include "inference-operator.patch.own" . | fromJson -}}{{- $_ := set $targets $.Release.Namespace . -}}{{- end -}}
{{-   range $namespace, $given := index .tkc.values.inferenceOperator.l2Patch "namespaces" -}}
{{-     $target := dict "models" (index $given "models" | default list) "claim" (index $given "claimName" | default "") "mountPath" (index $given "mountPath" | default "" | trimSuffix "/")
          "adapter" (index $given "adapter" | default "") "propagation" (index $given "propagation" | default "") "ofModels" dict -}}
{{-     if hasKey $given "hashSeed" -}}{{- $_ := set $target "hashSeed" (include "tkc.scalar" $given.hashSeed) -}}{{- end -}}
{{-     range $model, $its := index $given "engines" -}}
{{-       $of := dict -}}
{{-       range $key, $value := $its -}}{{- $_ := set $of $key (include "tkc.scalar" $value) -}}{{- end -}}
{{-       $_ := set $target.ofModels $model $of -}}
{{-     end -}}
{{-     $_ := set $targets $namespace $target -}}
{{-   end -}}
{{- end -}}
{{- toJson $targets -}}
{{- end -}}

{{- /* Data of the parameter object (docs/l2-patch.md): flat keys, texts. JSON object. */ -}}
{{- define "inference-operator.patch.parameters" -}}
{{- $data := dict -}}
{{- range $namespace, $target := include "inference-operator.patch.targets" . | fromJson -}}
{{-   $_ := set $data (printf "%s.models" $namespace) (has "*" $target.models | ternary "*" ($target.models | sortAlpha | join ",")) -}}
{{-   range $key := list "claim" "mountPath" "propagation" "hashSeed" "adapter" "adapterParams" -}}
{{-     with index $target $key -}}{{- $_ := set $data (printf "%s.%s" $namespace $key) . -}}{{- end -}}
{{-   end -}}
{{-   range $model, $its := $target.ofModels -}}
{{-     range $key, $value := $its -}}
{{-       with $value -}}{{- $_ := set $data (printf "%s.%s.%s" $namespace $model $key) . -}}{{- end -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- toJson $data -}}
{{- end -}}

{{- /* What is different when the parameters are. */ -}}
{{- define "inference-operator.patch.revision" -}}
{{- include "inference-operator.patch.parameters" . | sha256sum | trunc 16 -}}
{{- end -}}

{{- define "inference-operator.patch.namespaceSelector" -}}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: In
    values: {{ include "inference-operator.patch.targets" . | fromJson | keys | sortAlpha | toJson }}
{{- end -}}

{{- define "inference-operator.patch.objectSelector" -}}
matchLabels:
  {{ include "inference-operator.podLabel" . }}: {{ include "inference-operator.podLabelValue" . }}
matchExpressions:
  # The name of its InferenceEndpointConfig. Without it a Pod is not the operator's worker.
  - key: app
    operator: Exists
{{- end -}}

{{- /* The creation of Pods: debugging, resizing and relabelling are other requests. */ -}}
{{- define "inference-operator.patch.rules" -}}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE]
  resources: [pods]
  scope: Namespaced
{{- end -}}

{{- /* "policy" or "webhook". A list of group/versions says nothing of kinds: v1beta1 of 1.34 has the policies off by default, and what a GitOps
       tool adds to the list that Helm was built with is not that of the cluster. So policy only where the kind itself is named, or the version
       is one that always serves it. */ -}}
{{- define "inference-operator.patch.mechanism" -}}
{{- $asked := .tkc.values.inferenceOperator.l2Patch.mechanism -}}
{{- if ne $asked "auto" }}{{ $asked }}
{{- else if include "inference-operator.patch.policyServed" . }}policy
{{- else }}webhook
{{- end -}}
{{- end -}}

{{- define "inference-operator.patch.policyServed" -}}
{{- if or (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version) }}true{{ end -}}
{{- end -}}

{{- define "inference-operator.patch.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "inference-operator.patch.name" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "inference-operator.patch.labels" . | nindent 4 }}
data:
  revision: {{ include "inference-operator.patch.revision" . | quote }}
  {{- range $key, $value := include "inference-operator.patch.parameters" . | fromJson }}
  {{ $key }}: {{ include "tkc.yamlText" $value }}
  {{- end }}
{{- end -}}
