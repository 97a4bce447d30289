{{- /* What is scraped, and by which job Prometheus then knows it. Context everywhere: root. */ -}}

{{- /* "true" if there are PodMonitors, or alerts. Context: dict root, kind (podMonitors, alerts). */ -}}
{{- define "tkc.observability.enabled" -}}
{{- if dig "observability" .kind "enabled" false .root.tkc.values }}true{{ end -}}
{{- end -}}

{{- /* "true" if a model has LMCache as a server of its own, which is what shows its counters. */ -}}
{{- define "tkc.observability.lmcacheServer" -}}
{{- $found := false -}}
{{- range .tkc.deployed -}}{{- $found = or $found (and .lmcache (eq .mode "multiProcess")) -}}{{- end -}}
{{- if $found }}true{{ end -}}
{{- end -}}

{{- /* Components of this release that have metrics: name of the PodMonitor, component, names of the containers' ports. JSON list. */ -}}
{{- define "tkc.observability.parts" -}}
{{- $parts := list -}}
{{- if .tkc.deployed -}}
{{-   $ports := list "http" -}}
{{-   if include "tkc.observability.lmcacheServer" . -}}{{- $ports = append $ports "lmcache-http" -}}{{- end -}}
{{-   $parts = append $parts (dict "name" (include "tkc.name" (dict "root" . "part" "engine")) "component" "engine" "ports" $ports) -}}
{{-   $parts = append $parts (dict "name" (include "tkc.name" (dict "root" . "part" "router")) "component" "router" "ports" (list "metrics")) -}}
{{-   if dig "gateway" "enabled" false .tkc.values -}}
{{-     $parts = append $parts (dict "name" (include "tkc.gateway.name" .) "component" "gateway" "ports" (list "metrics")) -}}
{{-   end -}}
{{- end -}}
{{- if include "tkc.keeper.enabled" . -}}
{{-   $parts = append $parts (dict "name" (include "tkc.keeper.name" .) "component" "keeper" "ports" (list "metrics")) -}}
{{- end -}}
{{- if include "curvine.own" . -}}
{{-   $parts = append $parts (dict "name" (include "curvine.masters.name" .) "component" "curvine-masters" "ports" (list "metrics")) -}}
{{-   $parts = append $parts (dict "name" (include "curvine.workers.name" .) "component" "curvine-workers" "ports" (list "metrics")) -}}
{{-   $client := include "tkc.observability.client" . -}}
{{-   $parts = append $parts (dict "name" (include (printf "%s.name" (replace "curvine-" "curvine." $client)) .) "component" $client "ports" (list "fuse" "metrics")) -}}
{{- end -}}
{{- if include "inference-operator.webhook.enabled" . -}}
{{-   $parts = append $parts (dict "name" (include "inference-operator.webhook.name" .) "component" "l2-patch" "ports" (list "health")) -}}
{{- end -}}
{{- toJson $parts -}}
{{- end -}}

{{- /* Which component mounts the pool. */ -}}
{{- define "tkc.observability.client" -}}
{{- ternary "curvine-csi-node" "curvine-client" (include "curvine.csi" . | eq "true") -}}
{{- end -}}

{{- /* Matcher of one component's series. Prometheus Operator names a job after the PodMonitor; Curvine's metrics have names such
       as "capacity", which nothing else would tell from others'. Context: dict root, component. */ -}}
{{- define "tkc.observability.job" -}}
{{- range include "tkc.observability.parts" .root | fromJsonArray -}}
{{-   if eq .component $.component }}{{ printf "job=\"%s/%s\"" $.root.Release.Namespace .name }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Matcher of all of them. */ -}}
{{- define "tkc.observability.jobs" -}}
{{- $jobs := list -}}
{{- range include "tkc.observability.parts" . | fromJsonArray -}}{{- $jobs = append $jobs (printf "%s/%s" $.Release.Namespace .name) -}}{{- end -}}
{{- printf "job=~\"%s\"" (join "|" $jobs) -}}
{{- end -}}

{{- /* Labels of the objects, with those by which a Prometheus selects them. Context: dict root, component, kind (podMonitors, alerts). */ -}}
{{- define "tkc.observability.labels" -}}
{{- include "tkc.labels" . }}
{{- range $name, $value := dig "observability" .kind "labels" dict .root.tkc.values }}
{{ $name | quote }}: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end -}}
