{{- /* The shared tier: what may share blocks, and where they lie. */ -}}

{{- /* "true" if a model uses L2. Context: root. */ -}}
{{- define "tkc.l2.used" -}}
{{- $used := false -}}
{{- range .tkc.models -}}{{- $used = or $used .l2 -}}{{- end -}}
{{- if $used -}}true{{- end -}}
{{- end -}}

{{- /* Canonical JSON (sorted keys, whole numbers) of everything that the chart knows of what changes the bytes of a cache block
       but is not in LMCache's own key. l2-root adds the weights' bytes, which only a Pod can read, and names the root by the
       hash of both: two Pods share blocks if and only if these texts are equal. Limits, sizes, replica and node names stay
       out: they change without changing a byte, and would only lose hits. Context: model context. */ -}}
{{- define "tkc.l2.config" -}}
{{- $source := dict -}}
{{- with .spec.source.huggingFace -}}
{{-   $_ := set $source "huggingFace" (dict "id" .id "revision" .revision) -}}
{{- end -}}
{{- with .spec.source.s3 -}}
{{- /* The listing of the bucket, its revision, is known to the Pod only. */ -}}
{{-   $_ := set $source "s3" (dict "bucket" .bucket "prefix" (index . "prefix" | default "" | trimAll "/")) -}}
{{- end -}}
{{- with .spec.source.claim -}}
{{-   $_ := set $source "claim" (dict "namespace" $.root.Release.Namespace "name" .name "subPath" (.subPath | default "")) -}}
{{- end -}}
{{- with .spec.source.fsx -}}
{{-   $_ := set $source "fsx" (dict "fileSystemId" .fileSystemId "path" (index . "path" | default "" | trimAll "/")) -}}
{{- end -}}
{{- with .spec.source.imagePath -}}
{{- /* Not the image's reference: rebuilt with the same weights and versions it may share. */ -}}
{{-   $_ := set $source "imagePath" .path -}}
{{- end -}}
{{- toJson (merge (dict "format" "v1" "source" $source "modelPath" .path) (include "model-endpoint.engine.identity" . | fromJson)) -}}
{{- end -}}

{{- /* First 16 hex digits of the SHA-256 of the rendered part. Context: model context. */ -}}
{{- define "tkc.l2.configHash" -}}
{{- .l2Config | sha256sum | trunc 16 -}}
{{- end -}}

{{- /* Where the tree begins in the Pods. A pool that the node mounts lies one level below the volume, so that it can be mounted
       again while they run; what is there without it nobody can write to. Context: root. */ -}}
{{- define "tkc.l2.directory" -}}
{{- .tkc.values.l2.mountPath }}{{ if include "curvine.onNodes" . }}/fs{{ end -}}
{{- end -}}

{{- /* Directory of a model in the Pods, which holds one root for each fingerprint. Context: model context. */ -}}
{{- define "tkc.l2.parent" -}}
{{- printf "%s/v1/%s/%s" (include "tkc.l2.directory" .root) .root.tkc.values.lineOfBusiness .name -}}
{{- end -}}

{{- /* The part of the volume that engines mount, and see nothing beside: what l2-root, which sees all of it, has made before they
       start. Nothing where they mount all of it: a pool's mount begins at the line of business anyway, and one that is made again
       does not reach a part. Context: root. */ -}}
{{- define "tkc.l2.ownTree" -}}
{{- if and .tkc.values.l2.volume.ownTreeOnly (not (include "curvine.used" .)) }}v1/{{ .tkc.values.lineOfBusiness }}{{ end -}}
{{- end -}}

{{- /* The mount of the volume in a container. Context: dict root, readOnly (optional), name (of the volume, optional), own
       (optional: only the line of business's tree). YAML list. */ -}}
{{- define "tkc.l2.mount" -}}
{{- $own := "" -}}
{{- if .own -}}{{- $own = include "tkc.l2.ownTree" .root -}}{{- end -}}
- name: {{ .name | default "l2" }}
  mountPath: {{ ternary (printf "%s/%s" .root.tkc.values.l2.mountPath $own) .root.tkc.values.l2.mountPath (not (empty $own)) | quote }}
{{- with $own }}
  subPath: {{ . }}
{{- end }}
{{- if .readOnly }}
  readOnly: true
{{- end }}
{{- if include "curvine.onNodes" .root }}
  # A pool that is mounted again appears here.
  mountPropagation: HostToContainer
{{- end }}
{{- end -}}

{{- /* Directory of the nodes that the volume is, where it is one: of a pool this line of business's part. Context: root. */ -}}
{{- define "tkc.l2.nodePath" -}}
{{- $l2 := .tkc.values.l2 -}}
{{- if include "curvine.onNodes" . -}}
{{-   with .tkc.values.lineOfBusiness }}{{ printf "%s/%s" (include "curvine.client.directory" $) . }}{{ end -}}
{{- else if and $l2.enabled (eq $l2.volume.type "hostPath") -}}
{{-   dig "hostPath" "path" "" $l2.volume -}}
{{- end -}}
{{- end -}}
