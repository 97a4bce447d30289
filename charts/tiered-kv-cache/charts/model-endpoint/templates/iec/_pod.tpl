{{- /* What is added to the operator's Pods: spec.kubernetes. Context everywhere: model context. */ -}}

{{- define "model-endpoint.iec.pod" -}}
{{- $own := .spec.hyperpod -}}
{{- with $own.serviceAccountName }}
serviceAccountName: {{ . | quote }}
{{- end }}
{{- with $own.schedulerName }}
schedulerName: {{ . | quote }}
{{- end }}
{{- with include "model-endpoint.iec.newer" (dict "model" . "section" "kubernetes") | trim }}
{{ . }}
{{- end }}
{{- if or .l2 .spec.source.claim }}
volumes:
{{- with .spec.source.claim }}
  - name: {{ $own.modelVolume | quote }}
    persistentVolumeClaim:
      claimName: {{ .name | quote }}
      readOnly: true
{{- end }}
{{- if .l2 }}
  # The L2 patch mounts both where LMCache runs (docs/l2-patch.md).
  - name: tkc-l2
    persistentVolumeClaim:
      claimName: {{ include "tkc.l2.claimName" .root | quote }}
  - name: tkc-run
    emptyDir: {}
{{- end }}
{{- end }}
{{- if .l2 }}
initContainers:
{{- if .guarded }}
  - name: tkc-code
    {{- include "model-endpoint.iec.initContainer" (dict "model" . "args" "- copy-code\n- --to\n- /run/tkc/code") | nindent 4 }}
    volumeMounts:
      - name: tkc-run
        mountPath: /run/tkc
{{- end }}
  # It runs after the operator's own, which fetch the weights.
  - name: tkc-l2-root
    {{- include "model-endpoint.iec.initContainer" (dict "model" . "args" (printf "%s\n- --needs-patch" (include "model-endpoint.engine.l2RootArgs" . | trim))) | nindent 4 }}
    env:
      {{- include "model-endpoint.engine.l2RootEnv" . | trim | nindent 6 }}
      # A Pod that the operator made before the patch was in force ends here, until the patch check replaces it.
      - name: TKC_L2_PATCH
        valueFrom:
          fieldRef:
            fieldPath: metadata.annotations['{{ include "inference-operator.patch.annotation" . }}']
    volumeMounts:
      {{- include "tkc.l2.mount" (dict "root" .root "name" "tkc-l2") | nindent 6 }}
      - name: tkc-run
        mountPath: /run/tkc
      - name: {{ $own.modelVolume | quote }}
        mountPath: {{ include "model-endpoint.iec.mountPath" . }}
        readOnly: true
{{- end }}
{{- end -}}

{{- /* What the init containers have in common. The Pod is the operator's and says nothing about users, so that they say all of it.
       Context: dict model, args (YAML list). */ -}}
{{- define "model-endpoint.iec.initContainer" -}}
{{- $hooks := .model.root.tkc.values.hooks -}}
image: {{ include "tkc.image" $hooks.image | quote }}
imagePullPolicy: {{ $hooks.image.pullPolicy }}
args:
  {{- .args | nindent 2 }}
resources:
  {{- include "tkc.resources" $hooks.resources | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
  {{- include "tkc.container.securityContext" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
{{- end -}}
