{{- /* "true" if helm test has something to prove. Context: root. */ -}}
{{- define "tkc.verify.enabled" -}}
{{- if and .tkc.models .tkc.values.hooks.verify.enabled }}true{{ end -}}
{{- end -}}

{{- /* "true" if a model uses L2, so that verify looks at the volume with its own eyes. Context: root. */ -}}
{{- define "tkc.verify.l2" -}}
{{- range .tkc.models }}{{ if .l2 }}true{{ end }}{{ end -}}
{{- end -}}

{{- /* What verify has to find, as JSON. Context: root. */ -}}
{{- define "tkc.verify.config" -}}
{{- $verify := .tkc.values.hooks.verify -}}
{{- $models := list -}}
{{- range .tkc.models -}}
{{-   $models = append $models (dict
        "name" .name
        "servedName" .servedName
        "replicas" (int64 .spec.replicas)
        "chunkSize" (int64 .spec.cache.chunkSize)
        "l0" .l0
        "l1" .l1
        "l2" .l2
        "l2Root" (ternary .l2Root "" .l2)
        "fingerprint" .fingerprint) -}}
{{- end -}}
{{- toJson (dict
      "models" $models
      "promptTokens" (int64 $verify.promptTokens)
      "deadlineSeconds" (int64 $verify.deadlineSeconds)
      "resetL0" $verify.resetL0
      "minSpeedup" $verify.minSpeedup) -}}
{{- end -}}
