{{- /* Replicas by load: the operator makes a ScaledObject of this. Context: model context. */ -}}
{{- define "model-endpoint.iec.scaling" -}}
{{- $scaling := .spec.autoscaling -}}
{{- $own := .spec.hyperpod.autoscaling -}}
{{- $prometheus := include "tkc.withoutNulls" $own.prometheusTriggers | fromJson | dig "value" list -}}
{{- if $scaling.keda.query -}}
{{-   $prometheus = append $prometheus (dict "name" "keda" "serverAddress" $scaling.keda.serverAddress "query" $scaling.keda.query "targetValue" (include "tkc.scalar" $scaling.keda.threshold | float64)) -}}
{{- end -}}
minReplicaCount: {{ int64 $scaling.minReplicas }}
maxReplicaCount: {{ int64 $scaling.maxReplicas }}
pollingInterval: {{ int64 $scaling.keda.pollingInterval }}
cooldownPeriod: {{ int64 $scaling.keda.cooldownPeriod }}
{{- range $key := list "initialCooldownPeriod" "scaleUpStabilizationTime" "scaleDownStabilizationTime" }}
{{- $value := index $own $key }}
{{- if not (kindIs "invalid" $value) }}
{{ $key }}: {{ int64 $value }}
{{- end }}
{{- end }}
{{- with include "tkc.withoutNulls" $own.cloudWatchTriggers | fromJson | dig "value" list }}
cloudWatchTriggerList:
{{- range . }}
  - {{ toJson . }}
{{- end }}
{{- end }}
{{- with $prometheus }}
prometheusTriggerList:
{{- range . }}
  - {{ toJson . }}
{{- end }}
{{- end }}
{{- end -}}
