{{- /* Rules for PodMonitors and alerts. Context everywhere: dict root, faults. */ -}}
{{- define "tkc.validate.observability" -}}
{{- $values := .root.tkc.values -}}
{{- $monitors := include "tkc.observability.enabled" (dict "root" .root "kind" "podMonitors") -}}
{{- $alerts := include "tkc.observability.enabled" (dict "root" .root "kind" "alerts") -}}
{{- range $kind := list "podMonitors" "alerts" -}}
{{-   if include "tkc.observability.enabled" (dict "root" $.root "kind" $kind) -}}
{{-     include "tkc.validate.objectLabels" (dict "faults" $.faults "key" (printf "observability.%s.labels" $kind) "labels" (index $values "observability" $kind "labels")) -}}
{{-   end -}}
{{- end -}}
{{- if $monitors -}}
{{-   $complete := include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" (list "observability.podMonitors.interval")) -}}
{{-   $interval := index $values.observability.podMonitors "interval" | default "" -}}
{{-   if and $complete $alerts (gt (trimSuffix "s" $interval | int) 120) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "observability.podMonitors.interval" "value" $interval "why" "alerts look at five minutes of a counter, and need two scrapes in them even when one fails" "fix" "write 120s or less, or set observability.alerts.enabled: false") -}}
{{-   end -}}
{{-   if and (index $values.networkPolicy "enabled") (not (index $values.networkPolicy "metricsFrom")) -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "observability.podMonitors.enabled" "value" true "why" "networkPolicy.metricsFrom names nobody, so that the NetworkPolicies keep Prometheus away from the metrics"
            "fix" "name its Pods there, for example [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]") -}}
{{-   end -}}
{{- end -}}
{{- if $alerts -}}
{{-   if not $monitors -}}
{{-     include "tkc.fault" (dict "faults" .faults "key" "observability.alerts.enabled" "value" true "why" "the alerts look at the jobs that the PodMonitors make, and observability.podMonitors.enabled is not true" "fix" "set observability.podMonitors.enabled: true") -}}
{{-   end -}}
{{-   $paths := list "observability.alerts.runbooks" -}}
{{-   range list "poolFree" "notServed" "storesDropped" "keeperLagSeconds" -}}{{- $paths = append $paths (printf "observability.alerts.thresholds.%s" .) -}}{{- end -}}
{{-   $_ := include "tkc.validate.required" (dict "faults" .faults "from" $values "prefix" "" "paths" $paths) -}}
{{- end -}}
{{- end -}}

{{- /* Labels of objects that others select. Context: dict faults, key, labels. */ -}}
{{- define "tkc.validate.objectLabels" -}}
{{- range $name, $value := .labels -}}
{{-   if or (hasPrefix "app.kubernetes.io/" $name) (hasPrefix (printf "%s/" (include "tkc.domain" $)) $name) (eq $name "helm.sh/chart") -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" $.key "value" $name "why" "this label is the chart's own" "fix" "use another name, or let your Prometheus select by the chart's value") -}}
{{-   else if not (kindIs "string" $value) -}}
{{-     include "tkc.fault" (dict "faults" $.faults "key" (printf "%s.%s" $.key $name) "value" $value "why" "YAML read the label's value as something else than text, so that digits may be lost" "fix" "quote it") -}}
{{-   else -}}
{{-     include "tkc.validate.label" (dict "faults" $.faults "key" $.key "name" $name "texts" (list $value)) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* What the API server knows: Prometheus Operator's kinds. */ -}}
{{- define "tkc.validate.observabilityLive" -}}
{{- range $kind, $served := dict "podMonitors" "PodMonitor" "alerts" "PrometheusRule" -}}
{{-   if include "tkc.observability.enabled" (dict "root" $.root "kind" $kind) -}}
{{-     if not ($.root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" $served)) -}}
{{-       include "tkc.fault" (dict "faults" $.faults "key" (printf "observability.%s.enabled" $kind) "value" true "why" (printf "this cluster has no Prometheus Operator (no %s of monitoring.coreos.com/v1)" $served)
              "fix" "install its custom resource definitions, or set it to false") -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- end -}}
