{{- /* Parts that Prometheus does not reach. Context: root. */ -}}
{{- define "tkc.rules.targets" -}}
{{ include "tkc.alert" (dict "root" . "alert" "TieredKvCacheTargetDown" "for" "20m" "severity" "warning"
      "expr" (printf "up{%s} == 0" (include "tkc.observability.jobs" .))
      "summary" "Prometheus does not reach a Pod of the tiered cache"
      "description" "Pod {{ $labels.pod }}, endpoint {{ $labels.endpoint }} of job {{ $labels.job }} has not answered for 20 minutes: it is down, or no NetworkPolicy lets Prometheus in.") }}
{{- end -}}
