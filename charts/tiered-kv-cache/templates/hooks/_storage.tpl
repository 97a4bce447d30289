{{- /* The check of the L2 volume after install and upgrade. Context everywhere: root. */ -}}

{{- define "tkc.storage.name" -}}
{{- include "tkc.name" (dict "root" . "part" "storage") -}}
{{- end -}}

{{- /* "true" if the release has one: as soon as a model uses L2. */ -}}
{{- define "tkc.storage.enabled" -}}
{{- if and (include "tkc.l2.used" .) .tkc.values.hooks.storageCheck.enabled }}true{{ end -}}
{{- end -}}

{{- /* What it is told. YAML list of texts. */ -}}
{{- define "tkc.storage.args" -}}
{{- $values := .tkc.values -}}
{{- $check := $values.hooks.storageCheck -}}
- storage-check
- --directory={{ include "tkc.l2.directory" . }}
- --line-of-business={{ $values.lineOfBusiness }}
- --release={{ .Release.Namespace }}.{{ include "tkc.prefix" . }}
- --run=$(RUN_ID)
- --index=$(CHECK_INDEX)
- --node=$(NODE_NAME)
- --namespace={{ .Release.Namespace }}
- --job={{ include "tkc.storage.name" . }}
- --pod=$(POD_NAME)
- --volume-type={{ $values.l2.volume.type }}
# It ends before the Job does, with a message.
- --deadline={{ sub (int64 $check.deadlineSeconds) 15 }}
{{- with $check.fileSize }}
- --size={{ include "tkc.quantity.bytes" . }}
{{- end }}
{{- if include "tkc.keeper.enabled" . }}
- --quota={{ include "tkc.quantity.bytes" (include "tkc.keeper.quota" .) }}
{{- end }}
{{- if include "curvine.used" . }}
- --pool
- --block={{ include "tkc.quantity.bytes" $values.curvine.blockSize }}
{{- end }}
{{- include "tkc.storage.limits" . }}
{{- end -}}

{{- /* Within which the engines' adapters must be served: the strictest model's settings. */ -}}
{{- define "tkc.storage.limits" -}}
{{- range $flag, $setting := dict "load-base-ms" "loadBaseMs" "load-ms-per-mib" "loadMsPerMiB" "lookup-ms" "lookupDeadlineMs" -}}
{{-   $least := list -}}
{{-   range $.tkc.models -}}
{{-     if and .l2 .guarded -}}
{{-       $value := index .spec.cache.l2.settings $setting | int64 -}}
{{-       if or (not $least) (lt $value (first $least | int64)) -}}{{- $least = list $value -}}{{- end -}}
{{-     end -}}
{{-   end -}}
{{-   with $least }}
- --{{ $flag }}={{ first . }}
{{-   end -}}
{{- end -}}
{{- end -}}

{{- /* What it may do. Context: its name. */ -}}
{{- define "tkc.storage.rules" -}}
# Whether the other Pod runs: without that nobody could tell a volume that is not shared.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list]
# The Job gets this ServiceAccount as owner: Helm leaves hooks behind, and a finished Pod still holds the claim.
- apiGroups: [batch]
  resources: [jobs]
  resourceNames: [{{ . }}]
  verbs: [patch]
- apiGroups: [""]
  resources: [serviceaccounts]
  resourceNames: [{{ . }}]
  verbs: [get]
{{- end -}}
