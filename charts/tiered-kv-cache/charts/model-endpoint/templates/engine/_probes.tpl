{{- /* Health checks of the engine Pod's containers. Every field that has a default in the API is written out: its time-out
       of 1 s makes a busy engine unready. Context everywhere: model context. */ -}}

{{- define "model-endpoint.engine.vllmProbes" -}}
{{- $startup := .spec.probes.startup -}}
{{- /* The operator names the container's port, and is not asked how. */ -}}
{{- $port := ternary "8000" "http" .root.tkc.hyperpod -}}
startupProbe:
{{- if $startup.completion }}
  # One try asks again and again until its time is over: the budget stays exact, and a Pod is Ready soon after its server.
  exec:
    command:
      - python3
      - -IS
      - -c
      - |
        {{- include "model-endpoint.engine.startupScript" . | nindent 8 }}
      - "8000"
      - {{ .servedName | quote }}
      # Two thirds: on a busy node the kubelet's clock runs for seconds before the script does, and a try that the kubelet ends
      # does not say why it failed.
      - {{ div (add (mul 2 (int64 $startup.timeoutSeconds)) 2) 3 | quote }}
  periodSeconds: {{ int64 $startup.timeoutSeconds }}
  timeoutSeconds: {{ int64 $startup.timeoutSeconds }}
  failureThreshold: {{ include "model-endpoint.engine.tries" (dict "budget" $startup.budget "period" $startup.timeoutSeconds) }}
{{- else }}
  {{- include "tkc.probe" (dict "path" "/health" "port" $port "period" 5 "timeout" 5
        "failures" (include "model-endpoint.engine.tries" (dict "budget" $startup.budget "period" 5))) | nindent 2 }}
{{- end }}
readinessProbe:
  {{- include "model-endpoint.engine.probe" (dict "path" "/health" "port" $port "probe" .spec.probes.readiness) | nindent 2 }}
# A long prefill may hold the engine for tens of seconds, and a restart costs far more than a late one.
livenessProbe:
  {{- include "model-endpoint.engine.probe" (dict "path" "/health" "port" $port "probe" .spec.probes.liveness) | nindent 2 }}
{{- end -}}

{{- define "model-endpoint.engine.lmcacheProbes" -}}
startupProbe:
  {{- include "tkc.probe" (dict "path" "/healthcheck" "port" "lmcache-http" "period" 5 "timeout" 5
        "failures" (include "model-endpoint.engine.tries" (dict "budget" .spec.probes.startup.budget "period" 5))) | nindent 2 }}
readinessProbe:
  {{- include "model-endpoint.engine.probe" (dict "path" "/healthcheck" "port" "lmcache-http" "probe" .spec.probes.readiness) | nindent 2 }}
livenessProbe:
  {{- include "model-endpoint.engine.probe" (dict "path" "/healthcheck" "port" "lmcache-http" "probe" .spec.probes.liveness) | nindent 2 }}
{{- end -}}

{{- /* The script without its description and blank lines. */ -}}
{{- define "model-endpoint.engine.startupScript" -}}
{{- regexReplaceAll "\n\n+" (regexReplaceAll "(?s)^\"\"\".*?\"\"\"" (.root.Files.Get "files/startup_probe.py") "") "\n" | trim -}}
{{- end -}}

{{- /* An httpGet probe from values. Context: dict path, port, probe. */ -}}
{{- define "model-endpoint.engine.probe" -}}
{{- include "tkc.probe" (dict "path" .path "port" .port "period" (int64 .probe.periodSeconds) "timeout" (int64 .probe.timeoutSeconds)
      "failures" (int64 .probe.failureThreshold)) -}}
{{- end -}}

{{- /* Failed tries that fill the startup budget. Context: dict budget, period (seconds). */ -}}
{{- define "model-endpoint.engine.tries" -}}
{{- div (add (int64 .budget) (sub (int64 .period) 1)) (int64 .period) -}}
{{- end -}}

{{- /* Seconds without progress after which a rollout counts as failed; helm --wait then ends. Longer than the slowest start
       of a Pod: until its predecessor's GPU is free, the image pulled (10 minutes), the weights downloaded and read for their
       identity, the engine up. */ -}}
{{- define "model-endpoint.engine.progressDeadlineSeconds" -}}
{{- $seconds := add (int64 .spec.probes.startup.budget) (int64 .spec.terminationGracePeriodSeconds) 600 -}}
{{- add $seconds (include "model-endpoint.engine.sourceSeconds" . | int64) -}}
{{- end -}}
