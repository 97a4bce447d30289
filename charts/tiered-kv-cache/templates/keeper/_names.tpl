{{- /* The keeper: names, and what it is told. Context everywhere: root. */ -}}

{{- define "tkc.keeper.name" -}}
{{- include "tkc.name" (dict "root" . "part" "keeper") -}}
{{- end -}}

{{- /* "true" if the release has one: for its L2 volume, as soon as a model uses it. */ -}}
{{- define "tkc.keeper.enabled" -}}
{{- if and (include "tkc.l2.used" .) .tkc.values.l2.keeper.enabled -}}true{{- end -}}
{{- end -}}

{{- /* The ConfigMap's name ends in the hash of what it holds, so that the Pod starts anew when that changes. */ -}}
{{- define "tkc.keeper.configName" -}}
{{- printf "%s-%s" (include "tkc.keeper.name" .) (include "tkc.keeper.config" . | sha256sum | trunc 8) -}}
{{- end -}}

{{- /* What the release's line of business may hold on the volume. Context: root. */ -}}
{{- define "tkc.keeper.quota" -}}
{{- include "tkc.scalar" (.tkc.values.l2.keeper.quota | default .tkc.values.l2.volume.size) -}}
{{- end -}}

{{- /* Settings as the keeper reads them. What lines of business that are not named keep on the same volume goes by age
       alone. JSON. */ -}}
{{- define "tkc.keeper.config" -}}
{{- $keeper := .tkc.values.l2.keeper -}}
{{- $models := dict -}}
{{- range .tkc.models -}}
{{-   $quota := include "tkc.scalar" (.spec.cache.l2.quota | default "") -}}
{{-   if and .l2 $quota -}}{{- $_ := set $models .name (dict "quota" $quota) -}}{{- end -}}
{{- end -}}
{{- $quota := include "tkc.keeper.quota" . -}}
{{- $all := dict .tkc.values.lineOfBusiness (dict "quota" $quota "models" $models) -}}
{{- range $name, $one := $keeper.linesOfBusiness -}}
{{-   if not (kindIs "invalid" $one) -}}
{{-     $own := dict -}}
{{-     range $model, $quota := $one.models -}}
{{-       if not (kindIs "invalid" $quota) -}}{{- $_ := set $own $model (dict "quota" (include "tkc.scalar" $quota)) -}}{{- end -}}
{{-     end -}}
{{-     $_ := set $all $name (dict "quota" (include "tkc.scalar" $one.quota) "models" $own) -}}
{{-   end -}}
{{- end -}}
{{- $pool := dict -}}
{{- if include "curvine.used" . -}}
{{- /* Unreadable files come back with their worker: one that is missing is in the masters' count of lost ones. */ -}}
{{-   $pool = dict "pool" (dict "urls" (include "curvine.masters.metrics" . | fromJsonArray) "workers" 1) -}}
{{- end -}}
{{- toJson (merge $pool (dict
      "mount" (include "tkc.l2.directory" .)
      "linesOfBusiness" $all
      "highWatermark" $keeper.highWatermark
      "lowWatermark" $keeper.lowWatermark
      "ttl" $keeper.ttl
      "port" 9400
      "lease" (dict "name" (include "tkc.keeper.name" .) "namespace" .Release.Namespace))) -}}
{{- end -}}

{{- /* Groups of the other lines of business, without which it could remove nothing of theirs. JSON array. */ -}}
{{- define "tkc.keeper.groups" -}}
{{- $groups := list -}}
{{- range $name, $one := .tkc.values.l2.keeper.linesOfBusiness -}}
{{-   with index ($one | default dict) "gid" -}}{{- $groups = append $groups (int64 .) -}}{{- end -}}
{{- end -}}
{{- toJson (uniq $groups) -}}
{{- end -}}

{{- /* What it may do. Context: its name. */ -}}
{{- define "tkc.keeper.rules" -}}
# Its lease. A name cannot be asked for when something is created.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ . }}]
  verbs: [get, update]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end -}}
