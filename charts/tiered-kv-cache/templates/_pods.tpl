{{- /* What all Pods of the chart have in common (Pod Security "restricted"). All images run as this user. */ -}}

{{- define "tkc.pod.common" -}}
{{- include "tkc.pod.as" (dict "root" . "uid" 10001 "gid" 10001 "fsGroup" 10001) -}}
{{- end -}}

{{- /* The same for Pods that use the L2 volume: as the owner of the line of business's files. Context: dict root, groups
       (list, beside its own; may be missing). */ -}}
{{- define "tkc.pod.onL2" -}}
{{- include "tkc.pod.as" (merge (dict "root" .root "groups" (.groups | default list)) .root.tkc.values.l2.owner) -}}
{{- end -}}

{{- /* Context: dict root, uid, gid, fsGroup (may be missing), groups (list, may be missing). */ -}}
{{- define "tkc.pod.as" -}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ int64 .uid }}
  runAsGroup: {{ int64 .gid }}
  {{- with .groups }}
  supplementalGroups: {{ toJson . }}
  {{- end }}
  {{- with .fsGroup }}
  fsGroup: {{ int64 . }}
  # A big L2 volume must not be walked by the kubelet at each start.
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- include "tkc.imagePullSecrets" .root }}
{{- end -}}

{{- define "tkc.container.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* A variable's value from a Secret. Context: map with secretName and key. */ -}}
{{- define "tkc.secretRef" -}}
valueFrom:
  secretKeyRef:
    name: {{ .secretName | quote }}
    key: {{ .key | quote }}
{{- end -}}

{{- /* Labels of nodes as given, as strings. Context: map. */ -}}
{{- define "tkc.nodeSelector" -}}
{{- with . -}}
nodeSelector:
{{- range $key, $value := . }}
  {{ $key | quote }}: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* The same as a map. JSON object. Context: map. */ -}}
{{- define "tkc.nodeSelector.json" -}}
{{- index (include "tkc.nodeSelector" . | fromYaml) "nodeSelector" | default dict | toJson -}}
{{- end -}}

{{- /* Tolerations as given, whole numbers kept whole. Context: list. */ -}}
{{- define "tkc.tolerations" -}}
{{- with . -}}
tolerations:
{{- range . }}
  - {{ toJson . }}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* On different nodes, if there are any, so that the loss of one does not take all. Context: as of tkc.labels.selector. */ -}}
{{- define "tkc.pod.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "tkc.labels.selector" . | nindent 8 }}
{{- end -}}

{{- /* An httpGet probe. Every field is written out: the API's default time-out of 1 s makes a busy engine unready.
       Context: dict path, port, period, timeout, failures. */ -}}
{{- define "tkc.probe" -}}
httpGet:
  path: {{ .path }}
  port: {{ .port }}
periodSeconds: {{ .period }}
timeoutSeconds: {{ .timeout }}
failureThreshold: {{ .failures }}
{{- end -}}

{{- /* Where a Pod beside the engines runs: where they do, since only their nodes may have the L2 volume and let anything in.
       It takes what all models agree on, and tolerates what any of them does. Context: root. */ -}}
{{- define "tkc.pod.amongEngines" -}}
{{- $selector := deepCopy (first .tkc.models).spec.nodeSelector -}}
{{- $affinities := list -}}
{{- range .tkc.models -}}
{{-   $other := .spec.nodeSelector -}}
{{-   range $label := keys $selector -}}
{{-     if ne (include "tkc.scalar" (index $selector $label)) (include "tkc.scalar" (index $other $label)) -}}
{{-       $_ := unset $selector $label -}}
{{-     end -}}
{{-   end -}}
{{-   $affinities = append $affinities (include "model-endpoint.engine.affinity" . | fromJson | dig "nodeAffinity" dict | toJson) -}}
{{- end -}}
{{- with $selector }}
nodeSelector:
{{- range $label, $value := . }}
  {{ $label | quote }}: {{ include "tkc.scalar" $value | quote }}
{{- end }}
{{- end }}
{{- with include "tkc.pod.anywhereTolerated" . }}
{{ . }}
{{- end }}
{{- $affinity := uniq $affinities }}
{{- if and (eq (len $affinity) 1) (ne (first $affinity) "{}") }}
affinity:
  nodeAffinity: {{ first $affinity }}
{{- end }}
{{- end -}}

{{- /* Tolerations of a Pod that may run on any node: those of all models, and of the pool's masters where the release has no model.
       Context: root. */ -}}
{{- define "tkc.pod.anywhereTolerated" -}}
{{- $tolerations := list -}}
{{- range .tkc.models -}}{{- $tolerations = concat $tolerations .spec.tolerations -}}{{- end -}}
{{- if and (not .tkc.models) (include "curvine.own" .) -}}{{- $tolerations = .tkc.values.curvine.masters.tolerations -}}{{- end -}}
{{- include "tkc.tolerations" (uniq $tolerations) -}}
{{- end -}}

{{- /* Where servers listen: on every address. [::] takes IPv4 as well where a node has both; a node without IPv6 has no such
       address. Context: root. */ -}}
{{- define "tkc.anyAddress" -}}
{{- ternary "::" "0.0.0.0" (eq (.tkc.values.ipFamily | default "IPv4") "IPv6") -}}
{{- end -}}
