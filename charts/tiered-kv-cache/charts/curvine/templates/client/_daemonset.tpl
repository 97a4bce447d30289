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
            - name: CURVINE_CLIENT_HOSTNAME
              valueFrom:
                fieldRef:
                  # Blocks are written to the worker of the same name first.
                  fieldPath: {{ ternary "status.hostIP" "status.podIP" $values.workers.hostNetwork }}
            {{- include "curvine.bindAny" . | nindent 12 }}
          ports:
            - {name: fuse, containerPort: {{ $ports.clientMetrics }}, protocol: TCP}
          resources:
            {{- include "tkc.resources" $client.resources | nindent 12 }}
          # The only privileged container of the chart: a mount that other Pods shall see cannot be made otherwise.
          securityContext:
            privileged: true
            runAsNonRoot: false
            runAsUser: 0
            runAsGroup: 0
            readOnlyRootFilesystem: true
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: pool
              mountPath: /pool
              mountPropagation: Bidirectional
            - name: scripts
              mountPath: /scripts
              readOnly: true
            {{- /* Curvine looks the caller's uid up here; files of one that has no name would be root's. */}}
            {{- range list "passwd" "group" }}
            - name: scripts
              mountPath: /etc/{{ . }}
              subPath: {{ . }}
              readOnly: true
            {{- end }}
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
            - --port
            - {{ $ports.watch | quote }}
            - --pod
            - $(POD_NAME)
            - --namespace
            - {{ .Release.Namespace | quote }}
          env:
            {{- include "curvine.podName" . | nindent 12 }}
            - name: POD_UID
              valueFrom:
                fieldRef:
                  fieldPath: metadata.uid
          ports:
            - {name: metrics, containerPort: {{ $ports.watch }}, protocol: TCP}
          # Not a liveness probe: a restart of the watcher mends no mount.
          readinessProbe:
            {{- include "tkc.probe" (dict "path" "/healthz" "port" "metrics" "period" 5 "timeout" 3 "failures" 2) | nindent 12 }}
          resources:
            {{- include "tkc.resources" .tkc.values.hooks.resources | nindent 12 }}
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

{{- /* The engines' user is called by its number, which Curvine takes for the number on every node. */ -}}
{{- define "curvine.client.files" -}}
pool_mount.sh: |
  {{- .Files.Get "files/pool_mount.sh" | include "curvine.dense" | nindent 2 }}
passwd: |
  root:x:0:0::/:/sbin/nologin
  10001:x:10001:10001::/:/sbin/nologin
group: |
  root:x:0:
  10001:x:10001:
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

{{- /* Text of a Role's rules: its own Pod carries the state of the mount. A Pod's name is not known beforehand. */ -}}
{{- define "curvine.client.rules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end -}}
