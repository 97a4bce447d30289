{{- /* What the driver's Pods, on the nodes and beside the provisioner, have in common. Context: root unless said otherwise. */ -}}

{{- /* The API server knows from it that nothing is attached and that files keep their owners. */ -}}
{{- define "curvine.csi.object" -}}
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata:
  name: {{ include "curvine.csi.driver" . }}
  labels:
    {{- include "tkc.labels" (dict "root" . "component" "curvine-csi-node") | nindent 4 }}
  annotations:
    # Whose it is: a cluster has one.
    {{ include "tkc.domain" . }}/pool: {{ include "curvine.key" . | quote }}
spec:
  attachRequired: false
  podInfoOnMount: false
  fsGroupPolicy: None
  storageCapacity: false
  volumeLifecycleModes: [Persistent]
{{- end -}}

{{- /* Context: dict root, node. */ -}}
{{- define "curvine.csi.container" -}}
{{- $image := .root.tkc.values.curvine.client.csi.image -}}
image: {{ include "tkc.image" $image | quote }}
imagePullPolicy: {{ $image.pullPolicy }}
command: [{{ include "curvine.csi.home" . }}/csi, --endpoint=unix:///csi/csi.sock, --nodeid={{ .node }}]
# FUSE processes find their configuration from here.
workingDir: {{ include "curvine.csi.home" . }}
{{- end -}}

{{- define "curvine.csi.env" -}}
- name: KUBERNETES_NAMESPACE
  value: {{ .Release.Namespace | quote }}
# Its default ends a node's mount with the first Pod that leaves.
- name: MOUNT_MODE
  value: embedded
- name: CURVINE_CONF_FILE
  value: {{ include "curvine.csi.home" . }}/conf/curvine-cluster.toml
{{- end -}}

{{- define "curvine.csi.mounts" -}}
- name: config
  mountPath: {{ include "curvine.csi.home" . }}/conf
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- end -}}

{{- define "curvine.csi.volumes" -}}
- name: config
  configMap:
    name: {{ include "curvine.csi-node.name" . }}
    items:
      - {key: curvine-cluster.toml, path: curvine-cluster.toml}
- name: tmp
  emptyDir: {}
{{- end -}}
