{{- /* Controller: makes and removes the claims' directories in the pool. It runs as the engines' user, whose they are then.
       Context everywhere: root. */ -}}

{{- define "curvine.csi-controller.deployment" -}}
{{- $values := .tkc.values.curvine -}}
{{- $csi := $values.client.csi -}}
{{- $name := include "curvine.csi-controller.name" . -}}
{{- $labels := dict "root" . "component" "curvine-csi-controller" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
spec:
  replicas: 1
  revisionHistoryLimit: 3
  # Two would both make directories; without one only new claims wait.
  strategy:
    type: Recreate
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
      terminationGracePeriodSeconds: 30
      {{- include "tkc.pod.common" . | nindent 6 }}
      {{- with include "curvine.placement" (dict "tolerations" $values.masters.tolerations "nodeSelector" $values.masters.nodeSelector "priorityClassName" $values.masters.priorityClassName) | trim }}{{ . | nindent 6 }}{{ end }}
      containers:
        - name: csi
          {{- include "curvine.csi.container" (dict "root" . "node" "controller") | nindent 10 }}
          env:
            {{- include "curvine.csi.env" . | nindent 12 }}
          readinessProbe:
            exec:
              command: [test, -S, /csi/csi.sock]
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 3
          resources:
            {{- include "tkc.resources" $csi.controller.resources | nindent 12 }}
          securityContext:
            {{- include "tkc.container.securityContext" . | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: socket
              mountPath: /csi
            {{- include "curvine.csi.mounts" . | nindent 12 }}
        - name: provisioner
          image: {{ include "tkc.image" $csi.provisioner.image | quote }}
          imagePullPolicy: {{ $csi.provisioner.image.pullPolicy }}
          args:
            - --csi-address=/csi/csi.sock
            # A directory takes 6 to 12 s, the provisioner's own patience is 10.
            - --timeout=120s
            - --retry-interval-max=30s
          resources:
            {{- include "tkc.resources" $csi.provisioner.resources | nindent 12 }}
          securityContext:
            {{- include "tkc.container.securityContext" . | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          volumeMounts:
            - name: socket
              mountPath: /csi
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: socket
          emptyDir: {}
        {{- include "curvine.csi.volumes" . | nindent 8 }}
{{- end -}}

{{- /* Volumes are the cluster's, and claims may be in any namespace. Of the driver's own: it lists volumes to find what it shall
       remove. It says that it attaches, which it does not, so that the provisioner looks at attachments as well. */ -}}
{{- define "curvine.csi-controller.rules" -}}
- apiGroups: [""]
  resources: [persistentvolumes]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses, volumeattachments]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, update, patch]
{{- end -}}

{{- define "curvine.csi-controller.account" -}}
{{- $name := include "curvine.csi-controller.name" . -}}
{{- $cluster := printf "%s.%s" .Release.Namespace $name -}}
{{- $labels := dict "root" . "component" "curvine-csi-controller" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $cluster }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
rules:
  {{- include "curvine.csi-controller.rules" . | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $cluster }}
  labels:
    {{- include "tkc.labels" $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $cluster }}
subjects:
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: {{ .Release.Namespace | quote }}
{{- end -}}
