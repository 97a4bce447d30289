{{- /* "true" if helm test has something to prove. Context: root. */ -}}
{{- define "tkc.verify.enabled" -}}
{{- if and .tkc.deployed .tkc.values.hooks.verify.enabled }}true{{ end -}}
{{- end -}}

{{- /* What verify has to find, as JSON. Context: root. */ -}}
{{- define "tkc.verify.config" -}}
{{- $verify := .tkc.values.hooks.verify -}}
{{- $models := list -}}
{{- range .tkc.deployed -}}
{{-   $model := dict
        "name" .name
        "servedName" .servedName
        "deployment" (include "tkc.model.engineName" .)
        "chunkSize" (int64 .spec.cache.chunkSize)
        "l0" .l0
        "l1" .l1
        "l2" .l2
        "mode" .mode
        "ranks" .ranks
        "strategy" .spec.routing.strategy
        "dtype" .spec.engine.dtype
        "l2Parent" (ternary .l2Parent "" .l2)
        "configHash" (ternary .configHash "" .l2) -}}
{{- /* null: the number of Pods is an autoscaler's to say, and verify takes those that are Ready. */ -}}
{{-   if .spec.autoscaling.enabled -}}
{{-     $_ := set $model "replicas" nil -}}
{{-     $_ := set $model "minReplicas" (index .spec.autoscaling "minReplicas" | default 0 | int64) -}}
{{-   else -}}
{{-     $_ := set $model "replicas" (int64 .spec.replicas) -}}
{{-   end -}}
{{-   $models = append $models $model -}}
{{- end -}}
{{- $key := index .tkc.values "apiKey" | default dict -}}
{{- toJson (dict
      "models" $models
      "promptTokens" (int64 $verify.promptTokens)
      "deadlineSeconds" (int64 $verify.deadlineSeconds)
      "resetL0" $verify.resetL0
      "minSpeedup" $verify.minSpeedup
      "apiKeySecret" (ternary (printf "%s/%s" (index $key "secretName") (index $key "key")) "" (not (empty (index $key "secretName"))))) -}}
{{- end -}}

{{- /* The engines' API key. Optional: without it verify starts all the same, and says what is wrong. Context: root. */ -}}
{{- define "tkc.verify.apiKey" -}}
{{- $key := index .tkc.values "apiKey" | default dict -}}
{{- with index $key "secretName" -}}
- name: VLLM_API_KEY
  valueFrom:
    secretKeyRef:
      name: {{ . | quote }}
      key: {{ $key.key | quote }}
      optional: true
{{- end -}}
{{- end -}}

{{- /* What verify may do. Context: its name. */ -}}
{{- define "tkc.verify.rules" -}}
- apiGroups: [""]
  resources: [pods, persistentvolumeclaims, events]
  verbs: [get, list]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# Its own Pod gets this ServiceAccount as owner: Helm leaves test Pods behind, and a finished one still holds the claim.
- apiGroups: [""]
  resources: [pods]
  resourceNames: [{{ . }}]
  verbs: [patch]
- apiGroups: [""]
  resources: [serviceaccounts]
  resourceNames: [{{ . }}]
  verbs: [get]
{{- end -}}
