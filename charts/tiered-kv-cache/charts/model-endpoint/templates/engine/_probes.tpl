{{- /* Health checks of the engine Pod's containers. Context everywhere: model context. */ -}}

{{- define "model-endpoint.engine.vllmProbes" -}}
startupProbe:
  {{- include "tkc.probe" (dict "path" "/health" "port" "http" "period" 5 "timeout" 5
        "failures" (include "model-endpoint.engine.startupFailures" .)) | nindent 2 }}
readinessProbe:
  {{- include "tkc.probe" (dict "path" "/health" "port" "http" "period" 5 "timeout" 5 "failures" 3) | nindent 2 }}
# Two minutes without an answer: a long prefill may hold the engine for tens of seconds, a restart costs far more.
livenessProbe:
  {{- include "tkc.probe" (dict "path" "/health" "port" "http" "period" 20 "timeout" 10 "failures" 6) | nindent 2 }}
{{- end -}}

{{- define "model-endpoint.engine.lmcacheProbes" -}}
startupProbe:
  {{- include "tkc.probe" (dict "path" "/healthcheck" "port" "lmcache-http" "period" 5 "timeout" 5
        "failures" (include "model-endpoint.engine.startupFailures" .)) | nindent 2 }}
readinessProbe:
  {{- include "tkc.probe" (dict "path" "/healthcheck" "port" "lmcache-http" "period" 10 "timeout" 5 "failures" 3) | nindent 2 }}
livenessProbe:
  {{- include "tkc.probe" (dict "path" "/healthcheck" "port" "lmcache-http" "period" 20 "timeout" 10 "failures" 6) | nindent 2 }}
{{- end -}}

{{- /* Failed tries, 5 s apart, that fill the startup budget. */ -}}
{{- define "model-endpoint.engine.startupFailures" -}}
{{- div (add (int64 .spec.probes.startup.budget) 4) 5 -}}
{{- end -}}
