{{- /* What preflight may read: no more than it looks at. Context everywhere: root. */ -}}

{{- /* In the release's own namespace. */ -}}
{{- define "tkc.preflight.rules" -}}
- apiGroups: [""]
  resources: [pods, resourcequotas, limitranges]
  verbs: [list]
{{- with include "tkc.preflight.claims" . | fromJsonArray }}
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  resourceNames: {{ include "tkc.preflight.named" . }}
  verbs: [get]
{{- end }}
{{- with include "tkc.preflight.accounts" . | fromJsonArray }}
- apiGroups: [""]
  resources: [serviceaccounts]
  resourceNames: {{ include "tkc.preflight.named" . }}
  verbs: [get]
{{- end }}
{{- with .tkc.values.imagePullSecrets }}
# That they are there, and of which type; the API knows no lesser right.
- apiGroups: [""]
  resources: [secrets]
  resourceNames: {{ include "tkc.preflight.named" . }}
  verbs: [get]
{{- end }}
{{- if include "inference-operator.patch.wanted" . }}
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list]
{{- end }}
{{- end -}}

{{- /* Names of a list's members, each once. JSON list. Context: list of maps with a name. */ -}}
{{- define "tkc.preflight.named" -}}
{{- $names := list -}}
{{- range . -}}{{- $names = append $names .name -}}{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{- /* In the cluster. */ -}}
{{- define "tkc.preflight.clusterRules" -}}
{{- $hyperpod := include "tkc.preflight.hyperpod" . -}}
{{- $patch := include "inference-operator.patch.wanted" . -}}
# Nodes, and what of them is in use.
- apiGroups: [""]
  resources: [nodes, pods]
  verbs: [list]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses, csidrivers]
  verbs: [get]
{{- if or $hyperpod $patch (include "tkc.preflight.security" . | fromJsonArray) }}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- end }}
{{- if or $hyperpod (include "tkc.preflight.parts" . | fromJsonArray) }}
- apiGroups: [apps]
  resources: [daemonsets, statefulsets]
  verbs: [get]
{{- end }}
{{- if $hyperpod }}
# The operator's manager under either name, or by its image.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list]
{{- end }}
{{- if or $hyperpod $patch }}
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames:
    - inferenceendpointconfigs.inference.sagemaker.aws.amazon.com
    - certificates.cert-manager.io
    - issuers.cert-manager.io
    - constrainttemplates.templates.gatekeeper.sh
  verbs: [get]
{{- end }}
{{- if $patch }}
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations]
  verbs: [list]
- apiGroups: [kyverno.io]
  resources: [clusterpolicies]
  verbs: [list]
{{- end }}
{{- end -}}
