{{- /* The shared tier: what may share blocks, and where they lie. */ -}}

{{- /* Canonical JSON (sorted keys, whole numbers) of everything that changes the bytes of a cache block but is not in
       LMCache's own key. Two Pods may share blocks if and only if these texts are equal. Limits, sizes, replica and
       node names stay out: they change without changing a byte, and would only lose hits. Context: model context. */ -}}
{{- define "tkc.l2.config" -}}
{{- $engine := .spec.engine -}}
{{- $source := dict -}}
{{- with .spec.source.claim -}}
{{-   $_ := set $source "claim" (dict "namespace" $.root.Release.Namespace "name" .name "subPath" (.subPath | default "")) -}}
{{- end -}}
{{- with .spec.source.imagePath -}}
{{- /* Here the weights lie in the image, so that its reference is their only identity. */ -}}
{{-   $_ := set $source "imagePath" (dict "path" .path "image" (include "tkc.image" $engine.image)) -}}
{{- end -}}
{{- toJson (merge (dict "format" "v1" "source" $source "modelPath" .path) (include "model-endpoint.engine.identity" . | fromJson)) -}}
{{- end -}}

{{- /* First 16 hex digits of the SHA-256 of the configuration. Context: model context. */ -}}
{{- define "tkc.l2.fingerprint" -}}
{{- .l2Config | sha256sum | trunc 16 -}}
{{- end -}}

{{- /* Absolute path of a model's blocks in the Pods. Context: model context. */ -}}
{{- define "tkc.l2.root" -}}
{{- $values := .root.tkc.values -}}
{{- printf "%s/v1/%s/%s/%s" $values.l2.mountPath $values.lineOfBusiness .name .fingerprint -}}
{{- end -}}
