{{- /* Node plugin: Curvine's CSI driver on each node, which runs a FUSE process for each claim that Pods of the node use. With it
       end all their mounts, and they do not come back by themselves: it is replaced only when somebody deletes its Pod, and that Pod
       waits until nobody uses a mount. Context: root. */ -}}

{{- define "curvine.csi-node.daemonSet" -}}
{{- $values := .tkc.values.curvine -}}
{{- $client := $values.client -}}
{{- $ports := include "curvine.ports" . | fromJson -}}
{{- $name := include "curvine.csi-node.name" . -}}
{{- $labels := dict "root" . "component" "curvine-csi-node" -}}
{{- $kubelet := include "curvine.csi.kubelet" . -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  revisionHistoryLimit: 3
  updateStrategy:
    type: OnDelete
  selector:
    matchLabels:
      {{- include "tkc.labels.selector" $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "tkc.labels.pod" $labels | nindent 8 }}
    spec:
      serviceAccountName: {{ $name }}
      # The driver does not start without a token, and may do nothing with it: what it remembers in a Secret of mounts that are
      # gone would keep new Pods from getting one.
      automountServiceAccountToken: true
      # csi_leave.sh waits 300 s, and the sidecar ends after it.
      terminationGracePeriodSeconds: 330
      {{- include "tkc.pod.common" . | nindent 6 }}
      {{- with include "curvine.placement" $client | trim }}{{ . | nindent 6 }}{{ end }}
      initContainers:
        # A sidecar, which ends after the driver: without it the kubelet could not unmount any more.
        - name: registrar
          restartPolicy: Always
          image: {{ include "tkc.image" $client.csi.registrar.image | quote }}
          imagePullPolicy: {{ $client.csi.registrar.image.pullPolicy }}
          args:
            - --csi-address=/csi/csi.sock
            - --kubelet-registration-path={{ $kubelet }}/plugins/{{ include "curvine.csi.driver" . }}/csi.sock
          resources:
            {{- include "tkc.resources" $client.csi.registrar.resources | nindent 12 }}
          # The kubelet's directory of sockets and the driver's socket are root's.
          securityContext:
            runAsNonRoot: false
            runAsUser: 0
            runAsGroup: 0
            {{- include "tkc.container.securityContext" . | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: socket
              mountPath: /csi
            - name: registration
              mountPath: /registration
      containers:
        - name: csi
          {{- include "curvine.csi.container" (dict "root" . "node" "$(NODE_NAME)") | nindent 10 }}
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
            # Ours of mountpoint comes first.
            - name: PATH
              value: /scripts:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
            {{- include "curvine.client.env" . | nindent 12 }}
            {{- include "curvine.csi.env" . | nindent 12 }}
          ports:
            - {name: fuse, containerPort: {{ $ports.clientMetrics }}, protocol: TCP}
          lifecycle:
            preStop:
              exec:
                command: [sh, /scripts/csi_leave.sh]
          readinessProbe:
            exec:
              command: [test, -S, /csi/csi.sock]
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 3
          resources:
            {{- include "tkc.resources" $client.resources | nindent 12 }}
          {{- include "curvine.client.privileged" . | nindent 10 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: socket
              mountPath: /csi
            - name: kubelet
              mountPath: {{ $kubelet }}
              mountPropagation: Bidirectional
            - name: scripts
              mountPath: /scripts
              readOnly: true
            {{- include "curvine.client.accountMounts" . | trim | nindent 12 }}
            {{- include "curvine.csi.mounts" . | nindent 12 }}
        - name: watch
          image: {{ include "tkc.image" .tkc.values.hooks.image | quote }}
          imagePullPolicy: {{ .tkc.values.hooks.image.pullPolicy }}
          args:
            - pool-watch
            - --kubelet
            - {{ $kubelet }}
            - --pod-logs
            - /var/log/pods
            {{- include "curvine.client.watchArgs" . | nindent 12 }}
          {{- include "curvine.client.watch" . | nindent 10 }}
          # The way to the mounts is root's; without capabilities it reads nothing that belongs to others.
          securityContext:
            runAsNonRoot: false
            runAsUser: 0
            runAsGroup: 0
            {{- include "tkc.container.securityContext" . | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: pods
              mountPath: {{ $kubelet }}/pods
              mountPropagation: HostToContainer
              readOnly: true
            # Whose a mount is: the names of these directories say it.
            - name: pod-logs
              mountPath: /var/log/pods
              readOnly: true
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: kubelet
          hostPath:
            path: {{ $kubelet }}
            type: Directory
        - name: pods
          hostPath:
            path: {{ $kubelet }}/pods
            type: Directory
        - name: pod-logs
          hostPath:
            path: /var/log/pods
            type: Directory
        - name: registration
          hostPath:
            path: {{ $kubelet }}/plugins_registry
            type: Directory
        - name: socket
          hostPath:
            path: {{ $kubelet }}/plugins/{{ include "curvine.csi.driver" . }}
            type: DirectoryOrCreate
        - name: scripts
          configMap:
            name: {{ $name }}
            # 0555
            defaultMode: 365
            items:
              {{- range list "csi_leave.sh" "mountpoint" "passwd" "group" }}
              - {key: {{ . }}, path: {{ . }}}
              {{- end }}
        {{- include "curvine.csi.volumes" . | nindent 8 }}
{{- end -}}

{{- /* Its name stays: Pods that go on with an older template would find no ConfigMap after their node's restart. A new content
       reaches them within a minute or so, and the claims' next mounts by it. */ -}}
{{- define "curvine.csi-node.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "curvine.csi-node.name" . }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" (dict "root" . "component" "curvine-csi-node") | nindent 4 }}
data:
  curvine-cluster.toml: |
    {{- include "curvine.config.client" . | nindent 4 }}
  csi_leave.sh: |
    {{- .Files.Get "files/csi_leave.sh" | include "curvine.dense" | nindent 4 }}
  mountpoint: |
    {{- .Files.Get "files/csi_mountpoint.sh" | include "curvine.dense" | nindent 4 }}
  {{- include "curvine.client.accounts" . | nindent 2 }}
{{- end -}}
