{{- /* The proof of the L2 patch after install and upgrade. Context everywhere: root. */ -}}

{{- /* A Job's name becomes a label, which has at most 63 characters. */ -}}
{{- define "tkc.patchCheck.name" -}}
{{- include "tkc.name.within" (dict "name" (include "tkc.name" (dict "root" . "part" "patch-check")) "most" 63) -}}
{{- end -}}

{{- /* "true" if there is a patch to prove. */ -}}
{{- define "tkc.patchCheck.enabled" -}}
{{- if include "inference-operator.patch.wanted" . -}}
{{-   if .tkc.values.hooks.patchCheck.enabled }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* What it is told: whom the patch is for, and what the Pods that it tries ask for, as a quota may want. JSON object. */ -}}
{{- define "tkc.patchCheck.config" -}}
{{- $targets := include "inference-operator.patch.targets" . | fromJson -}}
{{- /* The same bytes each time. */ -}}
{{- range $targets -}}{{- $_ := set . "models" (sortAlpha .models) -}}{{- end -}}
{{- toJson (dict
      "namespaces" $targets
      "resources" (include "tkc.resources" .tkc.values.hooks.resources | fromYaml)) -}}
{{- end -}}

{{- /* What it may do in each namespace. The right to create Pods is that of a dry run as well: there is no lesser one. */ -}}
{{- define "tkc.patchCheck.rules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [create, list]
# Pods that were made before the patch was in force, and with hooks.patchCheck.restart all that run without it.
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create]
{{- end -}}

{{- /* The spec of its Pod, for the Job and for helm test. */ -}}
{{- define "tkc.patchCheck.pod" -}}
{{- $hooks := .tkc.values.hooks -}}
restartPolicy: Never
serviceAccountName: {{ include "tkc.patchCheck.name" . }}
automountServiceAccountToken: true
terminationGracePeriodSeconds: 5
{{ include "tkc.pod.common" . }}
{{- with include "tkc.pod.anywhereTolerated" . | trim }}
{{ . }}
{{- end }}
containers:
  - name: patch-check
    image: {{ include "tkc.image" $hooks.image | quote }}
    imagePullPolicy: {{ $hooks.image.pullPolicy }}
    args:
      - patch-check
      # It ends before the Job does, with a message.
      - --deadline={{ sub (int64 $hooks.patchCheck.deadlineSeconds) 15 }}
      {{- if $hooks.patchCheck.restart }}
      - --restart
      {{- end }}
    env:
      - name: TKC_PATCH_CHECK
        value: {{ include "tkc.yamlText" (include "tkc.patchCheck.config" . | replace "$(" "$$(") }}
    resources:
      {{- include "tkc.resources" $hooks.resources | nindent 6 }}
    securityContext:
      {{- include "tkc.container.securityContext" . | nindent 6 }}
    terminationMessagePolicy: FallbackToLogsOnError
    volumeMounts:
      - name: tmp
        mountPath: /tmp
volumes:
  - name: tmp
    emptyDir: {}
{{- end -}}
