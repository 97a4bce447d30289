{{- /* What both ways to mount the pool on a node have in common. Context everywhere: root. */ -}}

{{- define "curvine.client.env" -}}
- name: CURVINE_CLIENT_HOSTNAME
  valueFrom:
    fieldRef:
      # Blocks are written to the worker of the same name first.
      fieldPath: {{ ternary "status.hostIP" "status.podIP" .tkc.values.curvine.workers.hostNetwork }}
{{ include "curvine.bindAny" . }}
{{- end -}}

{{- define "curvine.client.privileged" -}}
# The only privileged container of the chart: a mount that other Pods shall see cannot be made otherwise.
securityContext:
  privileged: true
  runAsNonRoot: false
  runAsUser: 0
  runAsGroup: 0
  readOnlyRootFilesystem: true
{{- end -}}

{{- /* The engines' user is called by its number, which Curvine takes for the number on every node. */ -}}
{{- define "curvine.client.accounts" -}}
passwd: |
  root:x:0:0::/:/sbin/nologin
  10001:x:10001:10001::/:/sbin/nologin
group: |
  root:x:0:
  10001:x:10001:
{{- end -}}

{{- /* Curvine looks the caller's uid up here; files of one that has no name would be root's. */ -}}
{{- define "curvine.client.accountMounts" -}}
{{- range list "passwd" "group" }}
- name: scripts
  mountPath: /etc/{{ . }}
  subPath: {{ . }}
  readOnly: true
{{- end }}
{{- end -}}

{{- /* Of the watcher, behind those that say what it looks at. */ -}}
{{- define "curvine.client.watchArgs" -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
- --port
- {{ $ports.watch | quote }}
- --pod
- $(POD_NAME)
- --namespace
- {{ .Release.Namespace | quote }}
{{- end -}}

{{- /* The rest of its container, up to its rights. */ -}}
{{- define "curvine.client.watch" -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
env:
  {{- include "curvine.podName" . | nindent 2 }}
  - name: POD_UID
    valueFrom:
      fieldRef:
        fieldPath: metadata.uid
ports:
  - {name: metrics, containerPort: {{ $ports.watch }}, protocol: TCP}
# Not a liveness probe: a restart of the watcher mends no mount.
readinessProbe:
  {{- include "tkc.probe" (dict "path" "/healthz" "port" "metrics" "period" 5 "timeout" 3 "failures" 2) | nindent 2 }}
resources:
  {{- include "tkc.resources" .tkc.values.hooks.resources | nindent 2 }}
{{- end -}}

{{- /* Text of a Role's rules: its own Pod carries the state of the mount. A Pod's name is not known beforehand. */ -}}
{{- define "curvine.client.rules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end -}}
