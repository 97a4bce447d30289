{{- /* The end of a release with a pool, before Helm deletes it. Context everywhere: root. */ -}}

{{- define "tkc.drain.name" -}}
{{- include "tkc.name" (dict "root" . "part" "drain") -}}
{{- end -}}

{{- /* "true" if the release has a pool that is to be ended in order. */ -}}
{{- define "tkc.drain.enabled" -}}
{{- if include "curvine.own" . -}}{{- if .tkc.values.curvine.teardown.enabled }}true{{ end -}}{{- end -}}
{{- end -}}

{{- /* "true" if other releases may use the pool. */ -}}
{{- define "tkc.drain.others" -}}
{{- if .tkc.values.curvine.linesOfBusiness }}true{{ end -}}
{{- end -}}

{{- /* Deployments whose Pods may mount the pool. JSON list. */ -}}
{{- define "tkc.drain.users" -}}
{{- $users := list -}}
{{- range .tkc.deployed -}}
{{-   $users = append $users (include "tkc.model.engineName" .) -}}
{{- end -}}
{{- if include "tkc.keeper.enabled" . -}}{{- $users = append $users (include "tkc.keeper.name" .) -}}{{- end -}}
{{- toJson $users -}}
{{- end -}}

{{- define "tkc.drain.args" -}}
- pool-drain
- --namespace={{ .Release.Namespace }}
- --release={{ .tkc.instance }}
{{- range include "tkc.drain.users" . | fromJsonArray }}
- --user={{ . }}
{{- end }}
- --client={{ include "curvine.client.name" . }}
- --workers={{ include "curvine.workers.name" . }}
- --masters={{ include "curvine.masters.name" . }}
{{- if include "tkc.drain.others" . }}
- --others={{ include "curvine.client.directory" . }}
{{- end }}
{{- if .tkc.values.curvine.teardown.force }}
- --force
{{- end }}
# It ends before the Job does, with a message.
- --deadline={{ sub (int64 .tkc.values.curvine.teardown.deadlineSeconds) 15 }}
{{- end -}}

{{- define "tkc.drain.rules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
{{- with include "tkc.drain.users" . | fromJsonArray }}
- apiGroups: [apps]
  resources: [deployments]
  resourceNames: {{ toJson . }}
  verbs: [delete]
{{- end }}
- apiGroups: [apps]
  resources: [daemonsets]
  resourceNames: [{{ include "curvine.client.name" . }}, {{ include "curvine.workers.name" . }}]
  verbs: [delete]
- apiGroups: [apps]
  resources: [statefulsets]
  resourceNames: [{{ include "curvine.masters.name" . }}]
  verbs: [delete]
{{- end -}}
