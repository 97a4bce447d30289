{{- /* Names of the L2 patch's objects: the only place that knows them. Context everywhere: root. docs/l2-patch.md is the specification. */ -}}

{{- define "inference-operator.patch.name" -}}
{{- include "tkc.name" (dict "root" . "part" "l2-patch") -}}
{{- end -}}

{{- /* Cluster-scoped: namespace and first part of names, joined by a dot that neither can contain, so that two releases never build
       the same name, and an orphan says whose it was. At most 142 of 253 characters. */ -}}
{{- define "inference-operator.patch.clusterName" -}}
{{- printf "tiered-kv-cache-l2-patch.%s.%s" .Release.Namespace (include "tkc.prefix" .) -}}
{{- end -}}

{{- /* Second validating policy, which only warns. */ -}}
{{- define "inference-operator.patch.warningName" -}}
{{- printf "%s.warnings" (include "inference-operator.patch.clusterName" .) -}}
{{- end -}}

{{- define "inference-operator.patch.labels" -}}
{{- include "tkc.labels" (dict "root" . "component" "l2-patch") -}}
{{- end -}}

{{- /* What the operator's Pods carry. */ -}}
{{- define "inference-operator.podLabel" -}}deploying-service{{- end -}}
{{- define "inference-operator.podLabelValue" -}}hyperpod-inference{{- end -}}

{{- /* Names inside a patched Pod. JSON object. */ -}}
{{- define "inference-operator.patch.inPod" -}}
{{- toJson (dict "claimVolume" "tkc-l2" "runVolume" "tkc-run" "runPath" "/run/tkc" "link" "/run/tkc/l2" "code" "/run/tkc/code" "rootContainer" "tkc-l2-root" "codeContainer" "tkc-code" "tmpDir" "tmp-$(POD_NAME)") -}}
{{- end -}}

{{- define "inference-operator.patch.annotation" -}}{{ include "tkc.domain" . }}/l2-patch{{- end -}}
