{{- /* Masters: the metadata of the pool, one or a raft group of three. Context everywhere: root. */ -}}

{{- define "curvine.masters.statefulSet" -}}
{{- $masters := .tkc.values.curvine.masters -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $name := include "curvine.masters.name" . -}}
{{- $labels := dict "root" . "component" "curvine-masters" -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  replicas: {{ int64 $masters.replicas }}
  revisionHistoryLimit: 3
  serviceName: {{ $name }}
  # A group needs two of three to come up at all.
  podManagementPolicy: Parallel
  # The claims outlive an uninstall and a smaller group: they are the list of all files.
  persistentVolumeClaimRetentionPolicy:
    whenDeleted: Retain
    whenScaled: Retain
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
      # SIGTERM takes two seconds; nothing is lost by the SIGKILL behind it.
      terminationGracePeriodSeconds: 20
      {{- include "tkc.pod.common" . | nindent 6 }}
      {{- with include "curvine.placement" $masters | trim }}{{ . | nindent 6 }}{{ end }}
      {{- if gt (int64 $masters.replicas) 1 }}
      affinity:
        podAntiAffinity:
          # Two on one node would make that node's loss the group's.
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  {{- include "tkc.labels.selector" $labels | nindent 18 }}
      {{- end }}
      initContainers:
        - name: members
          image: {{ include "tkc.image" .tkc.values.hooks.image | quote }}
          imagePullPolicy: {{ .tkc.values.hooks.image.pullPolicy }}
          args:
            - pool-master
            - --data
            - /data
            - --cluster-id
            - {{ include "curvine.key" . | quote }}
            - --replicas
            - {{ int64 $masters.replicas | quote }}
            - --pod
            - $(POD_NAME)
            - --namespace
            - {{ .Release.Namespace | quote }}
          env:
            {{- include "curvine.podName" . | nindent 12 }}
          resources:
            {{- include "tkc.resources" .tkc.values.hooks.resources | nindent 12 }}
          securityContext:
            {{- include "tkc.container.securityContext" . | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: data
              mountPath: /data
            - name: tmp
              mountPath: /tmp
      containers:
        - name: master
          {{- include "curvine.container" (dict "root" . "service" "master") | nindent 10 }}
          env:
            {{- include "curvine.podName" . | nindent 12 }}
            # One of the journal's addresses, to the letter.
            - name: CURVINE_MASTER_HOSTNAME
              value: $(POD_NAME).{{ $name }}.{{ .Release.Namespace }}.svc
            {{- include "curvine.bindAny" . | nindent 12 }}
          ports:
            - {name: rpc, containerPort: {{ $ports.rpc }}, protocol: TCP}
            - {name: raft, containerPort: {{ $ports.raft }}, protocol: TCP}
            - {name: metrics, containerPort: {{ $ports.masterMetrics }}, protocol: TCP}
          # It opens its port after the journal was replayed: 700 MiB took four minutes.
          startupProbe:
            {{- include "curvine.tcpProbe" (dict "port" "rpc" "period" 2 "failures" 450) | nindent 12 }}
          readinessProbe:
            {{- include "curvine.tcpProbe" (dict "port" "rpc" "period" 5 "failures" 2) | nindent 12 }}
          livenessProbe:
            {{- include "curvine.tcpProbe" (dict "port" "rpc" "period" 10 "failures" 6) | nindent 12 }}
          resources:
            {{- include "tkc.resources" $masters.resources | nindent 12 }}
          volumeMounts:
            - name: data
              mountPath: /data
            {{- include "curvine.mounts" . | nindent 12 }}
      volumes:
        {{- include "curvine.volumes" (dict "root" . "part" "masters") | nindent 8 }}
  volumeClaimTemplates:
    - metadata:
        name: data
        labels:
          {{- include "tkc.labels.selector" $labels | nindent 10 }}
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $masters.storage.storageClass }}
        storageClassName: {{ . | quote }}
        {{- end }}
        resources:
          requests:
            storage: {{ include "tkc.scalar" $masters.storage.size | quote }}
{{- end -}}

{{- /* Names of the masters before they are ready, too: they find one another by them. */ -}}
{{- define "curvine.masters.service" -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $labels := dict "root" . "component" "curvine-masters" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "curvine.masters.name" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  clusterIP: None
  clusterIPs: [None]
  publishNotReadyAddresses: true
  selector:
    {{- include "tkc.labels.selector" $labels | nindent 4 }}
  ports:
    - {name: rpc, port: {{ $ports.rpc }}, targetPort: rpc, protocol: TCP}
    - {name: raft, port: {{ $ports.raft }}, targetPort: raft, protocol: TCP}
    - {name: metrics, port: {{ $ports.masterMetrics }}, targetPort: metrics, protocol: TCP}
{{- end -}}

{{- /* Text of a Role's rules: the group's claims, on which its members are written down. */ -}}
{{- define "curvine.masters.rules" -}}
{{- $claims := list -}}
{{- range until (int .tkc.values.curvine.masters.replicas) -}}
{{-   $claims = append $claims (printf "data-%s-%d" (include "curvine.masters.name" $) .) -}}
{{- end -}}
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  resourceNames: {{ toJson $claims }}
  verbs: [get, patch]
{{- end -}}
