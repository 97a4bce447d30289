{{- /* Workers: the blocks, on the disks of the nodes that the selector names. Context: root. */ -}}

{{- define "curvine.workers.daemonSet" -}}
{{- $workers := .tkc.values.curvine.workers -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $name := include "curvine.workers.name" . -}}
{{- $labels := dict "root" . "component" "curvine-workers" -}}
{{- $hostPort := ternary (printf ", hostPort: %v" $ports.worker) "" $workers.hostNetwork -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  revisionHistoryLimit: 3
  # One after the other: while a worker is away its blocks cannot be read.
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 1
  # Until its blocks are reported and readers have forgotten that it was away.
  minReadySeconds: 15
  selector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "tkc.labels.pod" $labels | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      {{- if $workers.hostNetwork }}
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      {{- end }}
      # Up to 3.4 s with a master, for ever without one.
      terminationGracePeriodSeconds: 10
      {{- include "tkc.pod.common" . | nindent 6 }}
      {{- with include "curvine.placement" $workers | trim }}{{ . | nindent 6 }}{{ end }}
      initContainers:
        - name: disk
          image: {{ include "tkc.image" .tkc.values.hooks.image | quote }}
          imagePullPolicy: {{ .tkc.values.hooks.image.pullPolicy }}
          args:
            - pool-disk
            - --path
            - /data
            - --host-path
            - {{ $workers.disk.path | quote }}
            - --size
            - {{ include "tkc.quantity.bytes" $workers.disk.size | quote }}
            - --reserve
            - {{ include "tkc.quantity.bytes" $workers.disk.reserve | quote }}
            - --cluster-id
            - {{ include "curvine.key" . | quote }}
            - --user
            - "10001"
            - --group
            - "10001"
            - --values-prefix
            - curvine.workers.disk
            {{- if $workers.disk.allowRootDisk }}
            - --allow-root-disk
            {{- end }}
          resources:
            {{- include "tkc.resources" .tkc.values.hooks.resources | nindent 12 }}
          # The node's directory belongs to root: its part of it is given to the worker's user.
          securityContext:
            runAsNonRoot: false
            runAsUser: 0
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
              add: [CHOWN, DAC_OVERRIDE, FOWNER]
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: data
              mountPath: /data
            - name: tmp
              mountPath: /tmp
      containers:
        - name: worker
          {{- include "curvine.container" (dict "root" . "service" "worker") | nindent 10 }}
          env:
            # What it tells the masters, and they tell clients. Who it is stands on its disk.
            - name: CURVINE_WORKER_HOSTNAME
              valueFrom:
                fieldRef:
                  fieldPath: {{ ternary "status.hostIP" "status.podIP" $workers.hostNetwork }}
            {{- include "curvine.bindAny" . | nindent 12 }}
          ports:
            - {name: rpc, containerPort: {{ $ports.worker }}{{ $hostPort }}, protocol: TCP}
            - {name: metrics, containerPort: {{ $ports.workerMetrics }}{{ $hostPort | replace (toString $ports.worker) (toString $ports.workerMetrics) }}, protocol: TCP}
          startupProbe:
            {{- include "curvine.tcpProbe" (dict "port" "rpc" "period" 2 "failures" 300) | nindent 12 }}
          readinessProbe:
            {{- include "curvine.tcpProbe" (dict "port" "rpc" "period" 5 "failures" 2) | nindent 12 }}
          livenessProbe:
            {{- include "curvine.tcpProbe" (dict "port" "rpc" "period" 10 "failures" 6) | nindent 12 }}
          resources:
            {{- include "tkc.resources" $workers.resources | nindent 12 }}
          volumeMounts:
            - name: data
              mountPath: /data
            {{- include "curvine.mounts" . | nindent 12 }}
      volumes:
        - name: data
          hostPath:
            path: {{ $workers.disk.path | quote }}
            # Not made: a missing disk must not become a directory of the root disk.
            type: Directory
        {{- include "curvine.volumes" (dict "root" . "part" "workers") | nindent 8 }}
{{- end -}}
