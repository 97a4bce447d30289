{{- /* Volumes that exist already (a directory of each node, a bucket), each bound to one claim: Pod Security "restricted"
       allows claims, not hostPath. */ -}}

{{- /* Cluster-scoped: namespace and claim, joined by a dot that no namespace can contain, so that two releases never build
       the same name. Context: dict root, claim. */ -}}
{{- define "tkc.staticVolume.name" -}}
{{- printf "%s.%s" .root.Release.Namespace .claim -}}
{{- end -}}

{{- /* A directory of each node that must be there, as in a PersistentVolume. JSON object. Context: its path. */ -}}
{{- define "tkc.staticVolume.directory" -}}
{{- toJson (dict "hostPath" (dict "path" . "type" "Directory")) -}}
{{- end -}}

{{- /* The volume and its claim. "Retain" leaves the data alone when they go.
       Context: dict root, labels, claim, mode (access mode), size, source (the volume's source), mountOptions (optional). */ -}}
{{- define "tkc.staticVolume" -}}
{{- $name := include "tkc.staticVolume.name" . -}}
apiVersion: v1
kind: PersistentVolume
metadata:
  name: {{ $name }}
  labels:
    {{- include "tkc.labels" .labels | nindent 4 }}
spec:
  accessModes: [{{ .mode }}]
  capacity:
    storage: {{ include "tkc.scalar" .size | quote }}
  persistentVolumeReclaimPolicy: Retain
  storageClassName: ""
  volumeMode: Filesystem
  claimRef:
    apiVersion: v1
    kind: PersistentVolumeClaim
    namespace: {{ .root.Release.Namespace | quote }}
    name: {{ .claim }}
  {{- with index . "mountOptions" }}
  mountOptions:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- toYaml .source | nindent 2 }}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ .claim }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "tkc.labels" .labels | nindent 4 }}
spec:
  accessModes: [{{ .mode }}]
  storageClassName: ""
  volumeMode: Filesystem
  volumeName: {{ $name }}
  resources:
    requests:
      storage: {{ include "tkc.scalar" .size | quote }}
{{- end -}}
