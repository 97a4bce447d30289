{{- /* Names of the gateway's objects, and what it is told. Context everywhere: root. */ -}}

{{- define "tkc.gateway.name" -}}
{{- include "tkc.name" (dict "root" . "part" "gateway") -}}
{{- end -}}

{{- /* The ConfigMap's name ends in the hash of what it holds, so that the Pods start anew when that changes. */ -}}
{{- define "tkc.gateway.configName" -}}
{{- printf "%s-%s" (include "tkc.gateway.name" .) (printf "%s%s" (include "tkc.gateway.source" .) (include "tkc.gateway.config" .) | sha256sum | trunc 8) -}}
{{- end -}}

{{- /* Without double blank lines, which a manifest has nowhere else. */ -}}
{{- define "tkc.gateway.source" -}}
{{- .Files.Get "files/tkc_gateway.py" | replace "\n\n\n" "\n\n" -}}
{{- end -}}

{{- /* Served name -> Service of the model. The Service's own port, since clients may reach it too. JSON. */ -}}
{{- define "tkc.gateway.config" -}}
{{- $models := dict -}}
{{- $timeout := 1 -}}
{{- range .tkc.models -}}
{{-   $_ := set $models .servedName (printf "http://%s.%s:%d" (include "tkc.model.name" .) $.Release.Namespace (int64 .spec.routing.service.port)) -}}
{{-   $timeout = max $timeout (int64 .spec.routing.requestTimeoutSeconds) -}}
{{- end -}}
{{- toJson (dict "models" $models "timeoutSeconds" $timeout "port" 8000 "metricsPort" 29000
      "maxBodyBytes" (mul (int64 .tkc.values.gateway.maxBodyMiB) 1048576) "graceSeconds" (sub (include "tkc.gateway.graceSeconds" . | int64) 10)) -}}
{{- end -}}

{{- /* Seconds between deletion and kill: those of the model with the longest answers. Context: root. */ -}}
{{- define "tkc.gateway.graceSeconds" -}}
{{- $seconds := 60 -}}
{{- range .tkc.models -}}{{- $seconds = max $seconds (int64 .spec.terminationGracePeriodSeconds) -}}{{- end -}}
{{- $seconds -}}
{{- end -}}

{{- /* Where its Pods run: as its own values say, key by key, else as the defaults of the models do. Of their affinity only what
       is about nodes: engines that shun each other need not shun it. JSON object. */ -}}
{{- define "tkc.gateway.placement" -}}
{{- $gateway := .tkc.values.gateway -}}
{{- $defaults := index .tkc.values "defaults" | default dict -}}
{{- $placement := dict -}}
{{- range list "nodeSelector" "tolerations" "priorityClassName" -}}
{{-   $_ := set $placement . (index (ternary $gateway $defaults (hasKey $gateway .)) .) -}}
{{- end -}}
{{- if hasKey $gateway "affinity" -}}
{{-   $_ := set $placement "affinity" $gateway.affinity -}}
{{- else -}}
{{-   with index (index $defaults "affinity" | default dict) "nodeAffinity" -}}{{- $_ := set $placement "affinity" (dict "nodeAffinity" .) -}}{{- end -}}
{{- end -}}
{{- toJson $placement -}}
{{- end -}}

{{- /* Fields of its Pods' spec, or nothing. */ -}}
{{- define "tkc.gateway.scheduling" -}}
{{- $placement := include "tkc.gateway.placement" . | fromJson -}}
{{- with $placement.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $placement.nodeSelector }}
nodeSelector:
{{- range $key, $value := . }}
  {{ $key | quote }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- with include "tkc.tolerations" $placement.tolerations }}
{{ . }}
{{- end }}
{{- with $placement.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end -}}
