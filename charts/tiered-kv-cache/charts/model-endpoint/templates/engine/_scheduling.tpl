{{- /* Where the engine Pods run, and beside whom. Context everywhere: model context. */ -}}

{{- define "model-endpoint.engine.scheduling" -}}
{{- $spec := .spec -}}
{{- with $spec.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $spec.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- with include "tkc.nodeSelector" $spec.nodeSelector }}
{{ . }}
{{- end }}
{{- with include "tkc.tolerations" $spec.tolerations }}
{{ . }}
{{- end }}
{{- with include "model-endpoint.engine.affinity" . | fromJson }}
# As given, and the instance types.
affinity: {{ toJson . }}
{{- end }}
{{- with $spec.spread }}
topologySpreadConstraints:
  - maxSkew: {{ int64 .maxSkew }}
    topologyKey: {{ .topologyKey | quote }}
    whenUnsatisfiable: {{ .whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "tkc.labels.selector" (dict "root" $.root "component" "engine" "model" $.name) | nindent 8 }}
{{- end }}
{{- end -}}

{{- /* The affinity of values; each of its node terms, or one of our own, also asks for the instance types. JSON object. */ -}}
{{- define "model-endpoint.engine.affinity" -}}
{{- $affinity := deepCopy .spec.affinity -}}
{{- with include "model-endpoint.engine.instanceTypes" . | fromJsonArray -}}
{{-   $wanted := dict "key" "node.kubernetes.io/instance-type" "operator" "In" "values" . -}}
{{-   $node := index $affinity "nodeAffinity" | default dict -}}
{{-   $required := index $node "requiredDuringSchedulingIgnoredDuringExecution" | default dict -}}
{{-   $terms := list -}}
{{-   range (index $required "nodeSelectorTerms" | default (list dict)) -}}
{{-     $terms = append $terms (merge (dict "matchExpressions" (append (index . "matchExpressions" | default list) $wanted)) .) -}}
{{-   end -}}
{{-   $_ := set $required "nodeSelectorTerms" $terms -}}
{{-   $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" $required -}}
{{-   $_ := set $affinity "nodeAffinity" $node -}}
{{- end -}}
{{- toJson $affinity -}}
{{- end -}}

{{- /* The types as the nodes are labelled: HyperPod's begin with "ml.". JSON array. */ -}}
{{- define "model-endpoint.engine.instanceTypes" -}}
{{- $types := list -}}
{{- range .spec.instanceTypes -}}
{{-   $types = append $types (ternary (printf "ml.%s" (trimPrefix "ml." .)) . $.root.tkc.hyperpod) -}}
{{- end -}}
{{- toJson $types -}}
{{- end -}}
