{{- /* What Curvine's Pods have in common. */ -}}

{{- /* Where a component runs. Context: its values. */ -}}
{{- define "curvine.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
{{- range $label, $value := . }}
  {{ $label | quote }}: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end }}
{{- with include "tkc.tolerations" .tolerations }}
{{ . }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end -}}

{{- /* Image and command of a server. It is the first process, so that SIGTERM reaches it. Context: dict root, service. */ -}}
{{- define "curvine.container" -}}
image: {{ include "curvine.image" .root | quote }}
imagePullPolicy: {{ .root.tkc.values.curvine.image.pullPolicy }}
command: [{{ include "curvine.bin" . }}/curvine-server, --service, {{ .service }}, --conf, {{ include "curvine.configFile" . }}]
securityContext:
  {{- include "tkc.container.securityContext" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
{{- end -}}

{{- define "curvine.podName" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end -}}

{{- /* Listen on every address; its own is only what it tells the others. Context: root. */ -}}
{{- define "curvine.bindAny" -}}
- name: ORPC_BIND_HOSTNAME
  value: {{ include "tkc.anyAddress" . | quote }}
{{- end -}}

{{- /* The servers have no health endpoint. Context: dict port, period, failures. */ -}}
{{- define "curvine.tcpProbe" -}}
tcpSocket:
  port: {{ .port }}
periodSeconds: {{ .period }}
timeoutSeconds: 5
failureThreshold: {{ .failures }}
{{- end -}}

{{- define "curvine.mounts" -}}
- name: config
  mountPath: {{ include "curvine.configDirectory" . }}
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- end -}}

{{- /* Context: dict root, part. */ -}}
{{- define "curvine.volumes" -}}
- name: config
  configMap:
    name: {{ include "curvine.config.name" . }}
- name: tmp
  emptyDir: {}
{{- end -}}
