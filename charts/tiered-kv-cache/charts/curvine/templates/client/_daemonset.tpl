{{- /* One mount of the pool on each node, which Pods see through a directory of the node. The mount can be made again under
       running Pods: they mount the directory above it, into which the kernel hands each new mount. Context: root. */ -}}

{{- define "curvine.client.daemonSet" -}}
{{- $values := .tkc.values.curvine -}}
{{- $client := $values.client -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $name := include "curvine.client.name" . -}}
{{- $labels := dict "root" . "component" "curvine-client" -}}
{{- $tenants := include "curvine.tenants" . | fromJsonArray -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  revisionHistoryLimit: 3
  # While a node's mount is made again its engines compute instead of reading.
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 1
  minReadySeconds: 15
  selector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "tkc.labels.pod" $labels | nindent 8 }}
    spec:
      serviceAccountName: {{ $name }}
      automountServiceAccountToken: true
      # The mount script needs at most eight seconds.
      terminationGracePeriodSeconds: 15
      {{- include "tkc.pod.common" . | nindent 6 }}
      {{- with include "curvine.placement" $client | trim }}{{ . | nindent 6 }}{{ end }}
      containers:
        - name: mount
          image: {{ include "curvine.image" . | quote }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          command: [sh, /scripts/pool_mount.sh]
          env:
            - name: POOL_DIR
              value: /pool
            - name: POOL_LINES
              value: {{ join " " $tenants | quote }}
            - name: POOL_COMMAND
              value: {{ printf "%s/curvine-fuse --conf %s --mnt-path" (include "curvine.bin" .) (include "curvine.configFile" .) | quote }}
            - name: POOL_UID
              value: "10001"
            - name: POOL_GID
              value: "10001"
            {{- include "curvine.client.env" . | nindent 12 }}
          ports:
            - {name: fuse, containerPort: {{ $ports.clientMetrics }}, protocol: TCP}
          resources:
            {{- include "tkc.resources" $client.resources | nindent 12 }}
          {{- include "curvine.client.privileged" . | nindent 10 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: pool
              mountPath: /pool
              mountPropagation: Bidirectional
            - name: scripts
              mountPath: /scripts
              readOnly: true
            {{- include "curvine.client.accountMounts" . | trim | nindent 12 }}
            {{- include "curvine.mounts" . | nindent 12 }}
        - name: watch
          image: {{ include "tkc.image" .tkc.values.hooks.image | quote }}
          imagePullPolicy: {{ .tkc.values.hooks.image.pullPolicy }}
          args:
            - pool-watch
            - --directory
            - /pool
            {{- range $tenants }}
            - --line-of-business
            - {{ . | quote }}
            {{- end }}
            {{- include "curvine.client.watchArgs" . | nindent 12 }}
          {{- include "curvine.client.watch" . | nindent 10 }}
          securityContext:
            {{- include "tkc.container.securityContext" . | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: pool
              mountPath: /pool
              mountPropagation: HostToContainer
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: pool
          hostPath:
            path: {{ include "curvine.client.directory" . | quote }}
            type: DirectoryOrCreate
        - name: scripts
          configMap:
            name: {{ include "curvine.client.scripts" . }}
        {{- include "curvine.volumes" (dict "root" . "part" "client") | nindent 8 }}
{{- end -}}

{{- /* Name of the ConfigMap with the mount script; a changed script is a new name. */ -}}
{{- define "curvine.client.scripts" -}}
{{- printf "%s-script-%s" (include "curvine.client.name" .) (include "curvine.client.files" . | sha256sum | trunc 8) -}}
{{- end -}}

{{- define "curvine.client.files" -}}
pool_mount.sh: |
  {{- .Files.Get "files/pool_mount.sh" | include "curvine.dense" | nindent 2 }}
{{ include "curvine.client.accounts" . }}
{{- end -}}

{{- define "curvine.client.scriptMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "curvine.client.scripts" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" (dict "root" . "component" "curvine-client") | nindent 4 }}
data:
  {{- include "curvine.client.files" . | nindent 2 }}
{{- end -}}
